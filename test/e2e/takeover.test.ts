/** A machine that somebody configured by hand before Holdfast was installed (issue 17, item 7). */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { release } from '../../src/cli/release.ts';
import type { VirtualHost } from '../../src/host/virtual/index.ts';
import { isObject } from '../../src/lib/json.ts';
import { type Appliance, type ApplianceOptions, appliance } from '../support/appliance.ts';
import { isHarmless } from '../support/catalogue.ts';
import { type FaultyHost, withFaults } from '../support/faults.ts';
import { standingClock } from '../support/hosts.ts';

const handMade = '# Ours since 2011\n[global]\nworkgroup = OFFICE\n[projects]\npath = /srv/projects\n';

/** Where people configure a machine, with something that they may write there and the subsystem that it belongs to. */
const places: readonly {
  readonly path: string;
  readonly content: string;
  readonly subsystem: string;
  readonly service?: string;
}[] = [
  { path: '/etc/samba/smb.conf', content: handMade, subsystem: 'samba', service: 'smbd' },
  {
    path: '/var/lib/samba/private/passdb.tdb',
    content: '\0INFO/version\0USER_anna\0',
    subsystem: 'samba',
    service: 'smbd',
  },
  { path: '/etc/samba/smbpasswd', content: 'anna:1000:XX:YY:[U ]:LCT-0:\n', subsystem: 'accounts' },
  { path: '/etc/exports', content: '/srv/projects *(rw)\n', subsystem: 'nfs', service: 'nfs-server' },
  {
    path: '/etc/exports.d/team.exports',
    content: '/srv/team 10.0.0.0/8(ro)\n',
    subsystem: 'nfs',
    service: 'nfs-server',
  },
  { path: '/etc/ssh/sshd_config.d/50-office.conf', content: 'AllowUsers anna\n', subsystem: 'ssh', service: 'ssh' },
  { path: '/etc/chrony/chrony.conf', content: 'server ntp.office.example\n', subsystem: 'time', service: 'chrony' },
  {
    path: '/etc/chrony/sources.d/office.sources',
    content: 'server ntp.office.example\n',
    subsystem: 'time',
    service: 'chrony',
  },
  { path: '/etc/rsyncd.conf', content: '[projects]\npath = /srv/projects\n', subsystem: 'rsyncd', service: 'rsync' },
  { path: '/etc/proftpd/proftpd.conf', content: 'ServerName "office"\n', subsystem: 'ftp', service: 'proftpd' },
  { path: '/etc/snmp/snmpd.conf', content: 'rocommunity office\n', subsystem: 'snmp', service: 'snmpd' },
  {
    path: '/etc/nut/upsmon.conf',
    content: 'MONITOR ups@localhost 1 me secret primary\n',
    subsystem: 'ups',
    service: 'nut-monitor',
  },
  { path: '/etc/smartd.conf', content: '/dev/sda -a -m root\n', subsystem: 'smart', service: 'smartmontools' },
  { path: '/etc/netatalk/afp.conf', content: '[Homes]\n', subsystem: 'afp', service: 'netatalk' },
  { path: '/etc/default/tftpd-hpa', content: 'TFTP_DIRECTORY="/srv/boot"\n', subsystem: 'tftp', service: 'tftpd-hpa' },
  { path: '/etc/krb5.conf', content: '[libdefaults]\ndefault_realm = OFFICE.EXAMPLE\n', subsystem: 'kerberos' },
  { path: '/etc/nslcd.conf', content: 'uri ldap://ldap.office.example/\n', subsystem: 'directory', service: 'nslcd' },
  { path: '/etc/hdparm.conf', content: '/dev/sda { spindown_time = 120 }\n', subsystem: 'disks' },
  { path: '/etc/motd', content: 'Ask Anna.\n', subsystem: 'console' },
  { path: '/etc/default/keyboard', content: 'XKBLAYOUT="de"\n', subsystem: 'keyboard' },
  { path: '/etc/default/lldpd', content: 'DAEMON_ARGS="-c"\n', subsystem: 'lldp', service: 'lldpd' },
  {
    path: '/etc/systemd/system/inadyn.service',
    content: '[Service]\nExecStart=/opt/inadyn\n',
    subsystem: 'dynamicdns',
    service: 'inadyn',
  },
];

type Planted = (typeof places)[number];

const planted = (some: readonly Planted[]) => async (machine: VirtualHost) => {
  for (const { path, content, service } of some) {
    await machine.files.write(path, content, { mode: 0o640 });
    if (service !== undefined) await machine.services.start(service);
  }
};

async function found({ api }: Appliance): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { subsystems } = await api.expect(200, 'GET', '/api/holdfast/v1/found');
  assert.ok(Array.isArray(subsystems));
  return subsystems.filter(isObject);
}

const unitsFound = async (one: Appliance) => (await found(one)).map(({ subsystem }) => String(subsystem)).toSorted();

async function withPlaces(some: readonly Planted[], options: ApplianceOptions = {}): Promise<Appliance> {
  return appliance({ ...options, before: planted(some) });
}

async function assertUntouched(one: Appliance, some: readonly Planted[]): Promise<void> {
  for (const { path, content, service } of some) {
    assert.equal(await one.machine.files.read(path), content, `${path} was changed`);
    assert.equal(await one.machine.files.mode(path), 0o640, `the permissions of ${path} were changed`);
    if (service === undefined) continue;
    const state = (await one.machine.services.states([service])).get(service);
    assert.deepEqual(
      [
        state?.running,
        state?.enabled,
        one.machine.services.starts.get(service) ?? 0,
        one.machine.services.reloads.get(service) ?? 0,
      ],
      [true, true, service === 'ssh' ? 0 : 1, 0],
      service,
    );
  }
}

test('whatever is configured by hand, the first start and every later one leave it and its services as they are', async () => {
  await fc.assert(
    fc.asyncProperty(fc.subarray([...places]), async (some) => {
      await using one = await withPlaces(some);
      await assertUntouched(one, some);
      assert.deepEqual(await unitsFound(one), [...new Set(some.map(({ subsystem }) => subsystem))].toSorted());
      assert.deepEqual(
        (await one.api.list('/api/holdfast/v1/drift')).filter(
          (report) => report['degraded'] !== null || String(report['drift']) !== '',
        ),
        [],
      );
    }),
    { numRuns: 12, examples: [[[]], [[...places]]] },
  );
});

const smb = places.filter(({ path }) => path === '/etc/samba/smb.conf');
const backups = '/var/backups/holdfast';

/** What the manifest says of each path. */
async function entries({ machine }: Appliance): Promise<Readonly<Record<string, unknown>>> {
  const manifest: unknown = JSON.parse((await machine.files.read(`${backups}/manifest.json`)) ?? '');
  assert.ok(isObject(manifest) && isObject(manifest['files']));
  return manifest['files'];
}

/** Where the original of a path is kept; null when nothing was there. */
async function originalOf(one: Appliance, path: string): Promise<string | null> {
  const entry = (await entries(one))[path];
  assert.ok(isObject(entry));
  return entry['original'] === null ? null : String(entry['original']);
}

async function withPool(one: Appliance): Promise<void> {
  await one.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
  });
}

test('what was found is in the log with the way to take it over, and stays unmanaged over restarts', async () => {
  let one = await withPlaces(smb);
  try {
    const line = one.log.find(({ message }) => message.startsWith('found on this machine'));
    assert.deepEqual(line?.fields, {
      subsystem: 'samba',
      files: ['/etc/samba/smb.conf'],
      live: [],
      takeOver: 'POST /api/holdfast/v1/found/samba/take',
    });
    one = await one.restart();
    assert.equal(await one.machine.files.read('/etc/samba/smb.conf'), handMade);
    assert.deepEqual(
      (await found(one)).map(({ subsystem, files, services }) => ({ subsystem, files, services })),
      [
        {
          subsystem: 'samba',
          files: ['/etc/samba/smb.conf'],
          services: [{ name: 'smbd', running: true, enabled: true }],
        },
      ],
    );
    assert.equal(
      one.log.filter(({ message }) => message.startsWith('found on this machine')).length,
      0,
      'it is logged once',
    );
  } finally {
    await one[Symbol.asyncDispose]();
  }
});

test('a change that an unmanaged subsystem would have to bring to the machine is refused with the way out, and nothing is kept', async () => {
  await using one = await withPlaces(smb);
  await withPool(one);
  const refusal = await one.api.send('POST', 'sharing/cifs/', { cifs_path: '/mnt/tank', cifs_name: 'media' });
  assert.equal(refusal.status, 409);
  assert.match(refusal.text, /POST \/api\/holdfast\/v1\/found\/samba\/take/);
  assert.equal((await one.api.send('PUT', 'services/services/cifs/', { srv_enable: false })).status, 409);
  assert.equal(
    (
      await one.api.send('POST', '/api/holdfast/v1/plan', {
        method: 'POST',
        path: 'sharing/cifs/',
        body: { cifs_path: '/mnt/tank', cifs_name: 'media' },
      })
    ).status,
    400,
  );
  assert.deepEqual(await one.api.list('sharing/cifs/'), []);
  assert.equal(await one.machine.files.read('/etc/samba/smb.conf'), handMade);
  // What others do stays possible.
  await one.api.expect(201, 'POST', 'sharing/nfs/', { nfs_paths: ['/mnt/tank'] });
  await one.api.expect(200, 'PUT', 'services/services/ftp/', { srv_enable: true });
  await one.api.expect(201, 'POST', 'account/users/', {
    bsdusr_username: 'mary',
    bsdusr_full_name: 'Mary',
    bsdusr_password: 'her secret',
    bsdusr_creategroup: true,
  });
});

test('taken over, the file is what the configuration says, the original is kept as it was and named, and changes go through', async () => {
  await using one = await withPlaces(smb);
  await withPool(one);
  const answer = await one.api.expect(200, 'POST', '/api/holdfast/v1/found/samba/take');
  assert.equal(answer['managed'], true);
  assert.match((await one.machine.files.read('/etc/samba/smb.conf')) ?? '', /workgroup = WORKGROUP/);
  const original = (await originalOf(one, '/etc/samba/smb.conf')) ?? '';
  assert.match(original, /^\/var\/backups\/holdfast\/[0-9TZ-]+\/etc\/samba\/smb\.conf$/);
  assert.equal(await one.machine.files.read(original), handMade);
  assert.equal(await one.machine.files.mode(original), 0o640);
  assert.equal(await one.machine.files.mode(backups), 0o700);
  assert.ok(
    one.log.some(
      ({ message, fields }) =>
        message === 'kept the original of a file' && 'path' in fields && fields.path === '/etc/samba/smb.conf',
    ),
  );
  assert.deepEqual(await found(one), []);
  await one.api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank', cifs_name: 'media' });
  assert.equal((await one.machine.services.states(['smbd'])).get('smbd')?.running, true, 'it went on running');
  assert.equal((await one.api.send('POST', '/api/holdfast/v1/found/samba/take')).status, 404);
  assert.equal((await one.api.send('POST', '/api/holdfast/v1/found/nonsense/take')).status, 404);
});

/** An appliance on a machine with a hand-made smb.conf, of which calls to the host can be made to fail. */
async function faulty(): Promise<{ readonly one: Appliance; readonly faults: FaultyHost }> {
  let faults: FaultyHost | undefined;
  const one = await withPlaces(smb, {
    now: standingClock().now,
    around: (host) => {
      faults = withFaults(host);
      return faults.host;
    },
  });
  assert.ok(faults !== undefined);
  return { one, faults };
}

test('a take-over that fails anywhere gives back what was there', async () => {
  const take = ({ api }: Appliance) => api.send('POST', '/api/holdfast/v1/found/samba/take');
  const learned = await faulty();
  await using _ = learned.one;
  learned.faults.heal();
  assert.equal((await take(learned.one)).status, 200);
  const { titles } = learned.faults;
  const last = titles.findLastIndex((title) => !isHarmless(title)) + 1;
  assert.ok(last > 10, `it makes ${last} calls`);
  const { one, faults } = await faulty();
  await using __ = one;
  for (let call = 1; call <= last; call += 1) {
    // A staged file that cannot be discarded is tried once more and then left.
    if (titles[call - 1] === 'files.discard') continue;
    for (const when of ['instead', 'afterwards'] as const) {
      faults.failAt(call, when);
      const answer = await take(one);
      const told = `call ${call} (${faults.titles[call - 1]}) failed ${when}: ${answer.status} ${answer.text}`;
      faults.heal();
      assert.equal(answer.status, 400, told);
      assert.equal(await one.machine.files.read('/etc/samba/smb.conf'), handMade, told);
      assert.equal(await one.machine.files.mode('/etc/samba/smb.conf'), 0o640, told);
      assert.deepEqual(
        (await one.machine.services.states(['smbd'])).get('smbd'),
        { running: true, enabled: true, installed: true },
        told,
      );
      assert.deepEqual(await unitsFound(one), ['samba'], told);
      assert.deepEqual(
        one.engine.problems.filter(({ kind }) => kind === 'subsystem'),
        [],
        told,
      );
    }
  }
  assert.equal((await take(one)).status, 200);
  assert.equal(await one.machine.files.read((await originalOf(one, '/etc/samba/smb.conf')) ?? ''), handMade);
});

test('a take-over that was cut short is given back at the next start', async () => {
  let one = await withPlaces(smb);
  try {
    const folder = one.folder;
    // As if the power went after the file was replaced and before the change was kept.
    await one.api.expect(200, 'POST', '/api/holdfast/v1/found/samba/take');
    await one.app.close();
    const database = new Database(`${folder}/holdfast.sqlite`);
    database
      .prepare("INSERT INTO documents VALUES ('holdfast/unmanaged', 1, ?)")
      .run(JSON.stringify({ subsystem: 'samba', files: ['/etc/samba/smb.conf'], live: [] }));
    database.close();
    one = await appliance({ folder });
    assert.equal(await one.machine.files.read('/etc/samba/smb.conf'), handMade);
    assert.deepEqual(await unitsFound(one), ['samba']);
  } finally {
    await one[Symbol.asyncDispose]();
  }
});

test("contents that packages brought are no person's work, and are kept before they are replaced all the same", async () => {
  await using one = await appliance({
    before: async (machine) => {
      await planted(smb)(machine);
      machine.packages.ship('/etc/samba/smb.conf');
    },
  });
  assert.deepEqual(await found(one), []);
  assert.equal(await one.machine.files.read((await originalOf(one, '/etc/samba/smb.conf')) ?? ''), handMade);
  assert.equal(await originalOf(one, '/etc/rsyncd.conf'), null, 'nothing was there');
  assert.equal(
    (await one.machine.services.states(['smbd'])).get('smbd')?.running,
    true,
    'what runs goes on running, also without nmbd',
  );
});

test('an installation by an earlier version stays managed everywhere, and its own files are never kept as originals', async () => {
  let one = await appliance();
  try {
    const { folder, machine } = one;
    await machine.files.remove(`${backups}/manifest.json`);
    await machine.files.write('/etc/samba/smb.conf', '# Written by an earlier version.\n');
    one = await one.restart();
    assert.deepEqual(await found(one), []);
    assert.doesNotMatch((await one.machine.files.read('/etc/samba/smb.conf')) ?? '', /earlier version/);
    assert.deepEqual((await entries(one))['/etc/samba/smb.conf'], {});
    assert.equal(one.log.filter(({ message }) => message.startsWith('kept the original')).length, 0);
    assert.equal(one.folder, folder);
  } finally {
    await one[Symbol.asyncDispose]();
  }
});

test('a pool that is mounted elsewhere is listed with what is to be done', async () => {
  await using one = await appliance({
    before: (machine) =>
      machine.zfs.createPool({ name: 'old', groups: [{ kind: 'stripe', disks: ['ada7'] }], mountpoint: '/srv/old' }),
  });
  const { pools } = await one.api.expect(200, 'GET', '/api/holdfast/v1/found');
  assert.ok(Array.isArray(pools) && isObject(pools[0]));
  assert.deepEqual([pools.length, pools[0]['name'], pools[0]['mountpoint']], [1, 'old', '/srv/old']);
  assert.match(String(pools[0]['to_do']), /zfs set mountpoint=\/mnt\/old old/);
});

test('released, the machine is as it was before Holdfast, and a later start looks again', async () => {
  const taken = places.filter(({ subsystem }) => ['samba', 'rsyncd', 'ups', 'time', 'console'].includes(subsystem));
  let one = await withPlaces(taken);
  try {
    const { machine, folder } = one;
    for (const subsystem of await unitsFound(one))
      await one.api.expect(200, 'POST', `/api/holdfast/v1/found/${subsystem}/take`);
    await withPool(one);
    await one.api.expect(201, 'POST', 'sharing/cifs/', { cifs_path: '/mnt/tank', cifs_name: 'media' });
    await one.api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: false });
    await one.api.expect(200, 'PUT', 'services/services/ftp/', { srv_enable: true });
    assert.notEqual(await machine.files.read('/etc/samba/smb.conf'), handMade);
    await machine.files.write('/etc/nginx/holdfast-proxy.conf', 'a person made this');
    await one.app.close();
    const root = `${folder}/virtual/root`;
    const said: string[] = [];
    await release(machine, { now: Date.now, say: (line) => said.push(line) });
    for (const { path, content, service } of taken) {
      assert.equal(await machine.files.read(path), content, path);
      assert.equal(await machine.files.mode(path), 0o640, path);
      if (service !== undefined)
        assert.deepEqual(
          (await machine.services.states([service])).get(service),
          { running: true, enabled: true, installed: true },
          service,
        );
    }
    assert.equal(await machine.files.read('/etc/proftpd/proftpd.conf'), undefined, 'nothing was there');
    const left = (await readdir(`${root}/etc`, { recursive: true })).filter((path) => path.includes('holdfast'));
    assert.deepEqual(left.toSorted(), ['nginx/holdfast-proxy.conf'], 'only what a person made is left');
    assert.deepEqual((await machine.services.states(['proftpd', 'winbind'])).get('proftpd'), {
      running: false,
      enabled: false,
      installed: true,
    });
    assert.ok(said.includes('gave back the original of a file: /etc/samba/smb.conf'), said.join('\n'));
    one = await appliance({ folder });
    assert.deepEqual(await unitsFound(one), [...new Set(taken.map(({ subsystem }) => subsystem))].toSorted());
    for (const { path, content } of taken) assert.equal(await machine.files.read(path), content, path);
  } finally {
    await one[Symbol.asyncDispose]();
  }
});

test('a domain is not joined while Samba is unmanaged, and nothing of the join is begun', async () => {
  const { one, faults } = await faulty();
  await using _ = one;
  faults.heal();
  const join = {
    ad_enable: true,
    ad_domainname: 'corp.example.com',
    ad_bindname: 'Administrator',
    ad_bindpw: 'domain secret',
    ad_netbiosname_a: 'archive',
  };
  const answer = await one.api.put('directoryservice/activedirectory/', join);
  assert.equal(answer.status, 409);
  assert.match(answer.text, /found\/samba\/take/);
  assert.deepEqual(
    faults.titles.filter((title) => title.startsWith('domain.')),
    [],
  );
});
