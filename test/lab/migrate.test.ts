/** The configuration of an old appliance is applied, and its clients find what they had. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { initiatorAt } from '../support/lab/initiator.ts';
import { eventually, type Nas, startNas } from '../support/lab/nas.ts';
import { runClient } from '../support/lab/network.ts';
import { hashesOf, type OldVersion, oldDatabase } from '../support/old-appliance.ts';

let nas: Nas;
const own = '/api/holdfast/v1';
const password = 'the old password';
const naa = '6589cfc0000001234567890123456789';
const { capacity, inquired } = initiatorAt(() => nas.machine.address);

before(async () => {
  nas = await startNas({ disks: 1 });
  // As the disks of the old appliance have it, with the number of its owner on the files.
  await nas.machine.run(`zpool create -m /mnt/tank tank /dev/ubdc
    zfs create -o casesensitivity=insensitive tank/media && zfs create tank/iocage && zfs create -V 32M tank/vm
    echo from the old appliance >/mnt/tank/media/hello && chown -R 1001:1001 /mnt/tank/media && chmod 700 /mnt/tank/media
    zpool export tank`);
  const [found] = await eventually(60, async () => {
    const answer = await nas.api.expect(200, 'GET', `${own}/found`);
    const pools = answer['importable'];
    assert.ok(Array.isArray(pools) && pools.length === 1, JSON.stringify(pools));
    return pools;
  });
  assert.deepEqual([found.name, found.version, found.used_by], ['tank', '5000', null]);
  const [{ id } = {}] = await nas.api.list('storage/volume_import/');
  await nas.api.expect(202, 'POST', 'storage/volume_import/', { volume_id: id });
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
});

let hashes: ReturnType<typeof hashesOf> | undefined;

async function database(version: OldVersion): Promise<Buffer> {
  hashes ??= hashesOf(password);
  const { unix, nt } = await hashes;
  return oldDatabase(version, {
    account_bsdgroups: [{ id: 40, bsdgrp_gid: 1001, bsdgrp_group: 'family', bsdgrp_builtin: 0, bsdgrp_sudo: 0 }],
    account_bsdusers: [
      {
        ...{ id: 40, bsdusr_uid: 1001, bsdusr_username: 'anna', bsdusr_full_name: 'Anna', bsdusr_group_id: 40 },
        ...{ bsdusr_home: '/nonexistent', bsdusr_shell: '/bin/sh', bsdusr_builtin: 0, bsdusr_unixhash: unix },
        bsdusr_smbhash: `anna:1001:${'X'.repeat(32)}:${nt}:[U          ]:LCT-5A5A5A5A:`,
      },
    ],
    storage_volume: [{ id: 1, vol_name: 'tank', vol_guid: '1', vol_fstype: 'ZFS', vol_encrypt: 0 }],
    sharing_cifs_share: [{ id: 1, cifs_path: '/mnt/tank/media', cifs_name: 'media', cifs_ro: 0, cifs_browsable: 1 }],
    services_iscsitargetglobalconfiguration: [{ id: 1, iscsi_basename: 'iqn.2005-10.org.freenas.ctl' }],
    services_iscsitargetportal: [
      { id: 1, iscsi_target_portal_tag: 1, iscsi_target_portal_discoveryauthmethod: 'None' },
    ],
    services_iscsitargetportalip: [
      {
        ...{ id: 1, iscsi_target_portalip_portal_id: 1, iscsi_target_portalip_ip: '0.0.0.0' },
        iscsi_target_portalip_port: 3260,
      },
    ],
    services_iscsitarget: [{ id: 9, iscsi_target_name: 'vm', iscsi_target_mode: 'iscsi' }],
    services_iscsitargetgroups: [
      {
        ...{ id: 1, iscsi_target_id: 9, iscsi_target_portalgroup_id: 1, iscsi_target_initiatorgroup_id: null },
        iscsi_target_authtype: 'None',
      },
    ],
    services_iscsitargetextent: [
      {
        ...{ id: 5, iscsi_target_extent_name: 'vm', iscsi_target_extent_type: 'ZVOL' },
        ...{ iscsi_target_extent_path: 'zvol/tank/vm', iscsi_target_extent_serial: '08002710a1b200' },
        ...{ iscsi_target_extent_naa: `0x${naa}`, iscsi_target_extent_blocksize: 512 },
      },
    ],
    services_iscsitargettoextent: [{ id: 1, iscsi_target_id: 9, iscsi_extent_id: 5, iscsi_lunid: 3 }],
  });
}

test('the file is applied as one change, says what is different here, and leaves nothing to do', async () => {
  const content = (await database('11.2')).toString('base64');
  const answer = await nas.api.expect(200, 'POST', `${own}/migrate`, { content });
  const said = JSON.stringify(answer['left']);
  for (const sentence of [
    /NFSv4 access lists/,
    /upper and lower case in tank\/media/,
    /tank\/iocage and what is below/,
  ])
    assert.match(said, sentence);
  const body = { files: [{ name: 'migrated.yaml', text: String(answer['file']) }] };
  await nas.api.expect(200, 'POST', `${own}/file/apply`, body);
  assert.deepEqual((await nas.api.expect(200, 'POST', `${own}/file/diff`, body))['changes'], []);
  for (const service of ['cifs', 'iscsitarget'])
    await nas.api.expect(200, 'PUT', `services/services/${service}/`, { srv_enable: true });
});

for (const version of ['9.3', '13.0'] as const)
  test(`the database of version ${version} with the same content asks for what is there now`, async () => {
    const content = (await database(version)).toString('base64');
    const { file } = await nas.api.expect(200, 'POST', `${own}/migrate`, { content });
    const body = { files: [{ name: 'migrated.yaml', text: String(file) }] };
    const { changes } = await nas.api.expect(200, 'POST', `${own}/file/diff`, body);
    // The services were switched on by hand.
    assert.deepEqual(
      (Array.isArray(changes) ? changes : [changes]).filter(({ kind }) => kind !== 'service'),
      [],
      JSON.stringify(changes),
    );
  });

test('a Windows client logs in with its old password, and owns its files', async () => {
  const smb = (login: string, command: string) =>
    runClient(['smbclient', `//${nas.machine.address}/media`, '-U', login, '-c', command]);
  await eventually(60, async () => {
    const { status, stdout, stderr } = await smb(`anna%${password}`, 'get hello -');
    assert.equal(status, 0, stderr);
    assert.match(stdout, /from the old appliance/);
  });
  assert.match((await smb(`anna%${password}`, 'put /etc/hostname new; ls NEW')).stdout, /^ {2}new /im);
  assert.notEqual((await smb('anna%another password', 'ls')).status, 0);
  assert.equal((await nas.machine.run('stat -c %u /mnt/tank/media/new')).trim(), '1001');
});

test('an initiator finds its disk under the old number, identifier and serial number', async () => {
  await eventually(60, async () => assert.equal(await capacity('vm', 3), 32 * 1024 ** 2));
  assert.match(await inquired('vm', 3, 0x80), /08002710a1b200/);
  // The first seven digits of the NAA identifier are those of the company.
  assert.match(await inquired('vm', 3, 0x83), new RegExp(`:${naa.slice(7)}-08002710a1b200\\]`));
});
