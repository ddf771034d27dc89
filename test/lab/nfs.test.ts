import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually, type Nas, startNas } from '../support/lab/nas.ts';
import { addressOn, runClient } from '../support/lab/network.ts';

/** One machine for the file: each test builds on the results of the earlier ones. */
let nas: Nas;
const here = addressOn(0, 2);

before(async () => {
  // The kernel's NFS server exports the root to clients of version 4, which is impossible for an overlay with two lower
  // layers.
  nas = await startNas({ disks: 1, installation: 'whole' });
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }],
  });
  await nas.api.expect(200, 'PUT', 'services/nfs/', {
    nfs_srv_v4: true,
    nfs_srv_mountd_port: 618,
    nfs_srv_rpcstatd_port: 871,
    nfs_srv_rpclockd_port: 32803,
    nfs_srv_servers: 3,
  });
  await nas.api.expect(200, 'PUT', 'services/services/nfs/', { srv_enable: true });
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
});

const url = (path: string, version: 3 | 4, more = '') =>
  `nfs://${nas.machine.address}${path}?version=${version}&uid=0&gid=0${more}`;

async function client(...words: readonly [string, ...string[]]) {
  return runClient(words);
}

async function content(path: string, version: 3 | 4): Promise<string> {
  const { status, stdout, stderr } = await client('nfs-cat', url(path, version));
  assert.equal(status, 0, stderr);
  return stdout;
}

async function listing(version: 3 | 4): Promise<string> {
  const { status, stdout, stderr } = await client('nfs-ls', url('/mnt/tank/media', version));
  assert.equal(status, 0, stderr);
  return stdout;
}

test('the server runs with its settings', async () => {
  assert.equal((await nas.api.expect(200, 'GET', 'services/services/nfs/'))['srv_state'], 'RUNNING');
  assert.equal((await nas.machine.run('cat /proc/fs/nfsd/threads')).trim(), '3');
  assert.match(await nas.machine.run('cat /proc/fs/nfsd/versions'), /\+3 \+4/);
  const ports = await nas.machine.run('rpcinfo -p | awk \'{ print $5 ":" $4 }\' | sort -u');
  for (const one of ['mountd:618', 'status:871', 'nlockmgr:32803', 'nfs:2049'])
    assert.ok(ports.includes(one), `${one} is not among\n${ports}`);
});

test('a share is read and written by both versions', async () => {
  await nas.api.expect(201, 'POST', 'sharing/nfs/', {
    nfs_paths: ['/mnt/tank/media'],
    nfs_hosts: here,
    nfs_maproot_user: 'root',
    nfs_maproot_group: 'root',
  });
  await nas.machine.run('echo from the machine >/mnt/tank/media/hello; chmod 644 /mnt/tank/media/hello');
  for (const version of [3, 4] as const) {
    assert.equal(await eventually(120, () => content('/mnt/tank/media/hello', version)), 'from the machine\n');
    assert.match((await client('nfs-ls', url('/mnt/tank/media', version))).stdout, /hello/);
    await nas.machine.run('rm -f /mnt/tank/media/copy');
    const copied = await client('nfs-cp', '/etc/hostname', url('/mnt/tank/media/copy', version));
    assert.equal(copied.status, 0, copied.stderr);
    assert.equal((await nas.machine.run('stat -c %u /mnt/tank/media/copy')).trim(), '0');
  }
});

test('a mapped client works as the account that the share names', async () => {
  const [share] = await nas.api.list('sharing/nfs/');
  await nas.api.expect(200, 'PUT', `sharing/nfs/${share?.['id']}/`, {
    nfs_maproot_user: '',
    nfs_maproot_group: '',
    nfs_mapall_user: 'nobody',
    nfs_mapall_group: 'nogroup',
  });
  await nas.machine.run('chmod 777 /mnt/tank/media; rm -f /mnt/tank/media/copy');
  const copied = await client('nfs-cp', '/etc/hostname', url('/mnt/tank/media/copy', 3));
  assert.equal(copied.status, 0, copied.stderr);
  assert.equal((await nas.machine.run('stat -c %U:%G /mnt/tank/media/copy')).trim(), 'nobody:nogroup');
});

test('a read-only share refuses writes', async () => {
  const [share] = await nas.api.list('sharing/nfs/');
  await nas.api.expect(200, 'PUT', `sharing/nfs/${share?.['id']}/`, { nfs_ro: true });
  const refused = await client('nfs-cp', '/etc/hostname', url('/mnt/tank/media/another', 3));
  assert.notEqual(refused.status, 0);
  assert.match(refused.stdout + refused.stderr, /ROFS|Read-only/i);
  assert.equal(await content('/mnt/tank/media/hello', 4), 'from the machine\n');
});

test('a host that is not listed is refused, and a deleted share is gone', async () => {
  const [share] = await nas.api.list('sharing/nfs/');
  await nas.api.expect(200, 'PUT', `sharing/nfs/${share?.['id']}/`, { nfs_hosts: '', nfs_network: '192.0.2.0/24' });
  for (const version of [3, 4] as const)
    assert.notEqual((await client('nfs-cat', url('/mnt/tank/media/hello', version))).status, 0);
  await nas.api.expect(200, 'PUT', `sharing/nfs/${share?.['id']}/`, { nfs_network: `${here}/24` });
  assert.equal(await content('/mnt/tank/media/hello', 3), 'from the machine\n');
  assert.equal((await nas.api.delete(`sharing/nfs/${share?.['id']}/`)).status, 204);
  assert.equal((await nas.machine.run('exportfs -s')).trim(), '');
});

test('a path with special characters is exported', async () => {
  await nas.api.expect(201, 'POST', 'sharing/nfs/', {
    nfs_paths: ['/mnt/tank/Größe#1'],
    nfs_network: `${here}/24`,
    nfs_maproot_user: 'root',
    nfs_maproot_group: 'root',
  });
  await nas.machine.run("echo odd >'/mnt/tank/Größe#1/file'; chmod 644 '/mnt/tank/Größe#1/file'");
  assert.match(await nas.machine.run('exportfs -s'), /Größe#1/);
});

test('where the kernel has no NFS server, Ganesha serves the same shares', async () => {
  await nas.api.expect(201, 'POST', 'sharing/nfs/', {
    nfs_paths: ['/mnt/tank/media'],
    nfs_hosts: here,
    nfs_maproot_user: 'root',
    nfs_maproot_group: 'root',
  });
  await nas.machine.run(
    'dpkg --purge nfs-kernel-server >/dev/null 2>&1 && systemctl daemon-reload && rm -f /mnt/tank/media/copy',
  );
  await eventually(120, async () => {
    assert.equal((await nas.api.expect(200, 'GET', 'services/services/nfs/'))['srv_state'], 'RUNNING');
    assert.equal((await nas.machine.run('systemctl is-active nfs-ganesha || true')).trim(), 'active');
  });
  for (const version of [3, 4] as const) {
    assert.match(await eventually(60, async () => listing(version)), /hello/);
    // During its grace period of 90 seconds it refuses to open or create files.
    assert.equal(await eventually(150, () => content('/mnt/tank/media/hello', version)), 'from the machine\n');
    await eventually(150, async () => {
      await nas.machine.run('rm -f /mnt/tank/media/copy');
      const copied = await client('nfs-cp', '/etc/hostname', url('/mnt/tank/media/copy', version));
      assert.equal(copied.status, 0, copied.stderr);
    });
    assert.equal((await nas.machine.run('stat -c %u /mnt/tank/media/copy')).trim(), '0');
  }
  const ports = await nas.machine.run('rpcinfo -p | awk \'{ print $5 ":" $4 }\' | sort -u');
  for (const one of ['mountd:618', 'nlockmgr:32803', 'nfs:2049'])
    assert.ok(ports.includes(one), `${one} is not among\n${ports}`);
});

test('Ganesha applies changes of a share while it runs: mapped accounts, write permission, allowed hosts', async () => {
  const share = (await nas.api.list('sharing/nfs/')).find(
    (one) => JSON.stringify(one['nfs_paths']) === '["/mnt/tank/media"]',
  );
  const change = (body: object) => nas.api.expect(200, 'PUT', `sharing/nfs/${share?.['id']}/`, { ...body });
  const pid = await nas.machine.run('systemctl show -P MainPID nfs-ganesha');
  await change({ nfs_maproot_user: '', nfs_maproot_group: '', nfs_mapall_user: 'nobody', nfs_mapall_group: 'nogroup' });
  await nas.machine.run('chmod 777 /mnt/tank/media');
  let tries = 0;
  await eventually(30, async () => {
    tries += 1;
    // Ganesha caches the contents of a folder for a minute, even if files are deleted locally.
    const copy = `/mnt/tank/media/copy${tries}`;
    assert.equal((await client('nfs-cp', '/etc/hostname', url(copy, 3))).status, 0);
    assert.equal((await nas.machine.run(`stat -c %U:%G ${copy}`)).trim(), 'nobody:nogroup');
  });
  await change({ nfs_ro: true });
  await eventually(30, async () => {
    const refused = await client('nfs-cp', '/etc/hostname', url('/mnt/tank/media/another', 3));
    assert.match(refused.stdout + refused.stderr, /ROFS|Read-only/i);
  });
  assert.equal(await content('/mnt/tank/media/hello', 4), 'from the machine\n');
  await change({ nfs_hosts: '', nfs_network: '192.0.2.0/24' });
  await eventually(30, async () => {
    for (const version of [3, 4] as const)
      assert.notEqual((await client('nfs-cat', url('/mnt/tank/media/hello', version))).status, 0);
  });
  assert.equal(await nas.machine.run('systemctl show -P MainPID nfs-ganesha'), pid, 'it was not restarted');
});

test('settings that Ganesha does not support are refused with the reason', async () => {
  assert.deepEqual((await nas.api.put('services/nfs/', { nfs_srv_bindip: ['10.0.2.15', '127.0.0.1'] })).json, {
    nfs_srv_bindip: ['Expected one address, or none for all: the NFS server of this machine is NFS-Ganesha.'],
  });
});

test('nothing differs from the configuration', async () => {
  assert.deepEqual(
    (await nas.api.list('/api/holdfast/v1/drift')).filter(
      (one) => one['degraded'] !== null || (Array.isArray(one['drift']) && one['drift'].length > 0),
    ),
    [],
  );
});
