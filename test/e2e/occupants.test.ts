import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Host, HostError } from '../../src/host/ports/index.ts';
import { VirtualTargets } from '../../src/host/virtual/targets.ts';
import { type Appliance, appliance, GiB } from '../support/appliance.ts';
import { withPorts } from '../support/ports.ts';

const listed = '/api/holdfast/v1/occupants';

/** An appliance with the volumes tank and other, and a share and an extent on tank. */
async function furnished(t: TestContext, around?: (host: Host) => Host) {
  const one = await appliance({ disks: [GiB, GiB], ...(around === undefined ? {} : { around }) });
  t.after(async () => one[Symbol.asyncDispose]());
  const { api } = one;
  for (const [index, name] of ['tank', 'other'].entries())
    await api.expect(201, 'POST', 'storage/volume/', {
      volume_name: name,
      layout: [{ vdevtype: 'stripe', disks: [`ada${index}`] }],
    });
  await api.expect(201, 'POST', 'sharing/cifs/', { cifs_name: 'media', cifs_path: '/mnt/tank/media' });
  await api.expect(202, 'POST', 'storage/volume/tank/zvols/', { name: 'disk', volsize: '10M' });
  await api.expect(201, 'POST', 'services/iscsi/extent/', {
    iscsi_target_extent_name: 'disk',
    iscsi_target_extent_type: 'Disk',
    iscsi_target_extent_disk: 'zvol/tank/disk',
  });
  return one;
}

/** Connects an initiator to a new target with the extent. */
async function connect({ api, host }: Appliance): Promise<void> {
  await api.expect(201, 'POST', 'services/iscsi/portal/', { iscsi_target_portal_ips: ['0.0.0.0:3260'] });
  await api.expect(200, 'PUT', 'services/services/iscsitarget/', { srv_enable: true });
  await api.expect(201, 'POST', 'services/iscsi/target/', { iscsi_target_name: 't' });
  await api.expect(201, 'POST', 'services/iscsi/targetgroup/', { iscsi_target: 1, iscsi_target_portalgroup: 1 });
  await api.expect(201, 'POST', 'services/iscsi/targettoextent/', { iscsi_target: 1, iscsi_extent: 1 });
  assert.ok(host.targets instanceof VirtualTargets);
  host.targets.connect('iqn.2005-10.org.freenas.ctl:t', {
    name: 'iqn.1993-08.org.debian:01:c',
    address: '192.0.2.7',
    portal: { address: '192.0.2.1', port: 3260 },
  });
}

test('what lies on a volume is listed, with who uses it', async (t) => {
  const one = await furnished(t);
  await connect(one);
  const extent = {
    resource: 'services/iscsi/extent',
    id: 1,
    title: 'iSCSI extent "disk"',
    locations: ['tank/disk'],
    removed_with_volume: 'cascade',
    used_by: ['iqn.1993-08.org.debian:01:c'],
  };
  const share = {
    resource: 'sharing/cifs',
    id: 1,
    title: 'CIFS share "media"',
    locations: ['/mnt/tank/media'],
    removed_with_volume: 'cascade',
    used_by: [],
  };
  const scrub = {
    resource: 'storage/scrub',
    id: 1,
    title: 'scrub task "tank"',
    locations: ['tank'],
    removed_with_volume: 'always',
    used_by: [],
  };
  const at = async (query: string) => (await one.api.get(`${listed}?${query}`)).json;
  assert.deepEqual(await at('dataset=tank'), [share, extent, scrub]);
  assert.deepEqual(await at('path=/mnt/tank/media/'), [share]);
  assert.deepEqual(await at('dataset=tank/disk'), [extent]);
  assert.deepEqual(await at('dataset=tank/none'), []);
});

test('a question for no place, for two or for one outside of the volumes is refused', async (t) => {
  const { api } = await furnished(t);
  for (const query of ['', '?path=/etc', '?path=/mnt/tank/../../etc', '?path=/mnt/tank&dataset=tank'])
    assert.equal((await api.get(`${listed}${query}`)).status, 400, query);
});

test('a volume that is busy is named with what lies on it', async (t) => {
  const busy = (host: Host): Host =>
    withPorts(host, (name, port) =>
      name !== 'zfs'
        ? port
        : new Proxy(port, {
            get(target, key) {
              if (key === 'exportPool')
                return async () => {
                  throw new HostError("cannot export 'tank': pool is busy");
                };
              const value: unknown = Reflect.get(target, key);
              return value;
            },
          }),
    );
  const { api } = await furnished(t, busy);
  const answer = await api.delete('storage/volume/tank/', { destroy: false, cascade: false });
  assert.match(
    answer.text,
    /pool is busy\. On it: CIFS share .{0,2}media.{0,2}, iSCSI extent .*Stop what uses it first\./,
  );
  assert.equal((await api.get('sharing/cifs/1/')).status, 200);
});
