import assert from 'node:assert/strict';
import { Resolver } from 'node:dns/promises';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { eventually, type Nas, startNas } from '../support/lab/nas.ts';
import { runClient } from '../support/lab/network.ts';

/** The appliance as a domain controller. Each test builds on the earlier ones. */
let nas: Nas;
let here: string;

before(async () => {
  nas = await startNas({ disks: 0, memory: 1536 });
  here = await mkdtemp(join(tmpdir(), 'holdfast-domain-'));
  await writeFile(
    join(here, 'krb5.conf'),
    `[libdefaults]\ndefault_realm = CORP.EXAMPLE.COM\ndns_lookup_kdc = false\n[realms]\nCORP.EXAMPLE.COM = {\n  kdc = ${nas.machine.address}\n}\n`,
  );
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
  if (here !== undefined) await rm(here, { recursive: true });
});

const domain = {
  dc_realm: 'corp.example.com',
  dc_domain: 'CORP',
  dc_dns_forwarder: '10.0.2.2',
  dc_forest_level: '2012_R2',
};
const ticket = (password: string) =>
  runClient(
    [
      'env',
      `KRB5_CONFIG=${here}/krb5.conf`,
      `KRB5CCNAME=FILE:${here}/cache`,
      'kinit',
      'Administrator@CORP.EXAMPLE.COM',
    ],
    { input: `${password}\n` },
  );

test('a password that Samba refuses is answered with its message, and the service stays off', async () => {
  await nas.api.expect(200, 'PUT', 'services/domaincontroller/', { ...domain, dc_passwd: 'short' });
  const answer = await nas.api.put('services/services/domaincontroller/', { srv_enable: true });
  assert.equal(answer.status, 400);
  assert.match(answer.text, /password/i);
  assert.equal((await nas.api.expect(200, 'GET', 'services/services/domaincontroller/'))['srv_enable'], false);
});

test('the domain is created when the service is switched on, and its administrator gets a ticket', async () => {
  await nas.api.expect(200, 'PUT', 'services/domaincontroller/', { dc_passwd: 'Secret 12345' });
  assert.equal(
    (await nas.api.expect(200, 'PUT', 'services/services/domaincontroller/', { srv_enable: true }))['srv_state'],
    'RUNNING',
  );
  await eventually(60, async () => {
    const outcome = await ticket('Secret 12345');
    assert.equal(outcome.status, 0, outcome.stdout + outcome.stderr);
  });
  assert.notEqual((await ticket('wrong')).status, 0);
  assert.match(
    await nas.machine.run('samba-tool domain level show --configfile=/etc/samba/holdfast-dc.conf'),
    /Forest function level: \(Windows\) 2012 R2/,
  );
});

test('its shares and its DNS names are served', async () => {
  await eventually(60, async () => {
    const outcome = await runClient([
      'smbclient',
      `//${nas.machine.address}/sysvol`,
      '-U',
      'CORP\\Administrator%Secret 12345',
      '-c',
      'ls',
    ]);
    assert.equal(outcome.status, 0, outcome.stdout + outcome.stderr);
    assert.match(outcome.stdout, /corp\.example\.com/);
  });
  await eventually(60, async () =>
    assert.match(
      await nas.machine.run(
        'samba-tool dns query localhost corp.example.com @ A -U Administrator --password="Secret 12345" 2>&1',
      ),
      /A: 10\.0\.2\.15/,
    ),
  );
});

test('DNS requests from outside are answered', async () => {
  const resolver = new Resolver();
  resolver.setServers([nas.machine.address]);
  assert.deepEqual(await eventually(30, () => resolver.resolve4('corp.example.com')), [nas.machine.address]);
});

test('a new password is valid at once, other names are refused, and shares cannot be served in addition', async () => {
  await nas.api.expect(200, 'PUT', 'services/domaincontroller/', { dc_passwd: 'Other 54321' });
  await eventually(60, async () => assert.equal((await ticket('Other 54321')).status, 0));
  const renamed = await nas.api.put('services/domaincontroller/', { dc_domain: 'OTHER' });
  assert.equal(renamed.status, 400);
  assert.match(renamed.text, /cannot be changed/);
  assert.equal((await nas.api.put('services/services/cifs/', { srv_enable: true })).status, 409);
  assert.equal((await nas.api.expect(200, 'GET', 'services/services/domaincontroller/'))['srv_state'], 'RUNNING');
  assert.doesNotMatch(await nas.machine.run('journalctl -q -o cat; ps -eo args'), /Secret 12345|Other 54321/);
});
