import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually, journal, type Nas, startNas } from '../support/lab/nas.ts';
import { runClient } from '../support/lab/network.ts';

/** One machine for the file: each statement stands on what the earlier ones made, as it does for its owner. */
let nas: Nas;

const address = '10.0.2.60';
const hidden = '10.9.0.2';

/**
 * A system of one program, as an archive with a checksum beside it, and with a device in it. Beside it one with a wrong
 * checksum, and one of bad intent, with a file to be written by way of a link that leads out.
 */
const template = `
  set -e
  R=/tmp/template; mkdir -p $R/bin $R/sbin $R/etc $R/proc $R/sys $R/dev $R/run $R/tmp $R/var $R/usr $R/root $R/www
  cp /bin/busybox $R/bin/busybox
  for name in sh httpd cat touch ip; do ln -s busybox $R/bin/$name; done
  ln -s ../bin/busybox $R/sbin/init
  echo '::respawn:/bin/httpd -f -p 80 -h /www' >$R/etc/inittab
  echo 'root:x:0:0:root:/root:/bin/sh' >$R/etc/passwd
  echo 'ID=small' >$R/etc/os-release
  echo 'a page of the jail' >$R/www/index.html
  mknod $R/dev/disk b 98 32
  cd $R; tar -cf /tmp/web.tar .
  mkdir -p /srv/templates; gzip -c /tmp/web.tar >/srv/templates/web.tar.gz
  mkdir -p /tmp/evil/leads; ln -s /etc /tmp/evil/out; echo owned >/tmp/evil/leads/holdfast-evil
  cd /tmp/evil; tar -rf /tmp/web.tar out; tar -rf /tmp/web.tar --transform='s/^leads/out/' leads/holdfast-evil
  gzip -c /tmp/web.tar >/srv/templates/evil.tar.gz
  cp /srv/templates/web.tar.gz /srv/templates/wrong.tar.gz
  cd /srv/templates; sha256sum web.tar.gz >web.tar.gz.sha256; echo ${'0'.repeat(64)} >wrong.tar.gz.sha256
  busybox httpd -p 127.0.0.1:8081 -h /srv/templates`;

before(async () => {
  nas = await startNas({ disks: 2, lasting: true });
  await nas.api.expect(201, 'POST', 'storage/volume/', { volume_name: 'tank', layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }] });
  for (const name of ['jails', 'media']) await nas.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name });
  await nas.machine.run(`echo 'a film' >/mnt/tank/media/film; ${template}`);
  await nas.api.expect(200, 'PUT', 'jails/configuration/', { jc_path: '/mnt/tank/jails' });
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
});

async function page(path: string): Promise<string> {
  const answer = await fetch(`http://${address}${path}`, { signal: AbortSignal.timeout(5000) });
  return `${answer.status} ${(await answer.text()).trim()}`;
}

const pageComes = (path: string, expected: string) => eventually(30, async () => assert.equal(await page(path), expected));

async function theJail(): Promise<Readonly<Record<string, unknown>>> {
  const [jail] = await nas.api.list('jails/jails/?jail_host=web');
  assert.ok(jail !== undefined);
  return jail;
}

test('an archive that is not what its checksum says is refused, and so is one that leads out; neither leaves anything', async () => {
  for (const [name, words] of [
    ['wrong', /is not what its checksum says/],
    ['evil', /holdfast-evil: Cannot open/],
  ] as const) {
    await nas.api.expect(201, 'POST', 'jails/templates/', { jt_name: name, jt_os: 'Linux', jt_arch: 'x64', jt_url: `http://127.0.0.1:8081/${name}.tar.gz` });
    const answer = await nas.api.post('jails/jails/', { jail_host: 'never', jail_type: name });
    assert.equal(answer.status, 400);
    assert.match(answer.text, words);
  }
  assert.equal(await nas.machine.run('zfs list -H -o name -r tank/jails; find /etc -name holdfast-evil'), 'tank/jails\n');
});

test('a jail with an address of its own answers ping and serves a page to the outside', async () => {
  await nas.api.expect(201, 'POST', 'jails/templates/', { jt_name: 'small', jt_os: 'Linux', jt_arch: 'x64', jt_url: 'http://127.0.0.1:8081/web.tar.gz' });
  const jail = await nas.api.expect(201, 'POST', 'jails/jails/', {
    jail_host: 'web',
    jail_type: 'small',
    jail_ipv4: address,
    jail_mac: '02:16:3e:00:00:01',
    jail_flags: 'memory=64M,tasks=50,allow.raw_sockets=0',
  });
  assert.equal(jail['jail_status'], 'Running');
  assert.equal(jail['jail_iface'], 'vec0');
  const ping = await runClient(['ping', '-c', '3', '-W', '5', address]);
  assert.equal(ping.status, 0, `${ping.stdout}${ping.stderr}${await journal(nas.machine)}`);
  await pageComes('/', '200 a page of the jail');
  const [small] = (await nas.api.list('jails/templates/')).filter((one) => one['jt_name'] === 'small');
  assert.equal(small?.['jt_instances'], 1);
});

test('no device of the archive is left', async () => {
  assert.equal(await nas.machine.run('find /mnt/tank/jails/web /mnt/tank/jails/.template-* -xdev -type b'), '');
});

test('its limits and its hardware address are those it was given', async () => {
  const shown = await nas.machine.run(`
    systemctl show holdfast-jail-web --property=MemoryMax --property=TasksMax
    L=$(machinectl show web --property=Leader --value); cat /proc/$L/root/etc/hostname 2>/dev/null; nsenter -t $L -u hostname
    ip -n jail${(await theJail())['id']} -o link show eth0; grep CapBnd /proc/$L/status`);
  assert.match(shown, /MemoryMax=67108864/);
  assert.match(shown, /TasksMax=50/);
  assert.match(shown, /^web$/m);
  assert.match(shown, /02:16:3e:00:00:01/);
  const capabilities = Number.parseInt(/CapBnd:\s*([0-9a-f]+)/.exec(shown)?.[1]?.slice(-8) ?? '', 16);
  assert.equal(capabilities & (1 << 13), 0, 'CAP_NET_RAW was taken from it');
});

test('a dataset is shown to it while it runs, for reading only, and taken away again', async () => {
  const mount = await nas.api.expect(201, 'POST', 'jails/mountpoints/', { jail: 'web', source: '/mnt/tank/media', destination: '/www/media', readonly: true });
  assert.equal(mount['mounted'], true);
  await pageComes('/media/film', '200 a film');
  const leader = (await nas.machine.run('machinectl show web --property=Leader --value')).trim();
  const write = await nas.machine.run(`nsenter -t ${leader} -m -p /bin/busybox touch /www/media/new 2>&1 || true`);
  assert.match(write, /Read-only file system/);
  const path = `jails/mountpoints/${mount['id']}/`;
  assert.equal((await nas.api.expect(200, 'PUT', path, { mounted: false }))['mounted'], false);
  assert.match(await page('/media/film'), /^404/);
  assert.equal((await nas.api.expect(200, 'PUT', path, { mounted: true }))['mounted'], true);
  await pageComes('/media/film', '200 a film');
  await nas.machine.run(`nsenter -t ${leader} -m -p /bin/busybox umount /www/media`);
  await eventually(20, async () => assert.equal((await nas.api.list('jails/mountpoints/'))[0]?.['mounted'], false));
  await nas.api.expect(200, 'PUT', path, { mounted: false });
  await nas.api.expect(200, 'PUT', path, { mounted: true });
});

test('it is stopped and started, and says so', async () => {
  const { id } = await theJail();
  assert.equal((await nas.api.post(`jails/jails/${id}/stop/`)).status, 202);
  assert.equal((await theJail())['jail_status'], 'Stopped');
  await assert.rejects(page('/'));
  assert.equal((await nas.api.post(`jails/jails/${id}/start/`)).status, 202);
  assert.equal((await theJail())['jail_status'], 'Running');
  await pageComes('/media/film', '200 a film');
  assert.equal((await nas.api.post(`jails/jails/${id}/restart/`)).status, 202);
  await pageComes('/media/film', '200 a film');
});

test('two jails reach one another, and one without an address outside the machine is reached from the machine', async () => {
  await nas.api.expect(201, 'POST', 'jails/jails/', {
    jail_host: 'inner',
    jail_type: 'small',
    jail_ipv4: hidden,
    jail_bridge_ipv4: '10.9.0.1',
    jail_autostart: false,
  });
  const leader = (await nas.machine.run('machinectl show inner --property=Leader --value')).trim();
  const seen = await eventually(20, () => nas.machine.run(`nsenter -t ${leader} -n busybox wget -q -O - http://${address}/; busybox wget -q -O - http://${hidden}/`));
  assert.equal(seen, 'a page of the jail\na page of the jail\n');
});

test('after a restart of the machine it runs again with all that belongs to it, and one without autostart rests', async () => {
  await nas.machine.reboot();
  await eventually(90, async () => assert.equal((await theJail())['jail_status'], 'Running'));
  await pageComes('/media/film', '200 a film');
  const [inner] = await nas.api.list('jails/jails/?jail_host=inner');
  assert.equal(inner?.['jail_status'], 'Stopped');
});

test('deleted jails leave neither datasets nor links, and what they were shown stays', async () => {
  for (const jail of await nas.api.list('jails/jails/')) await nas.api.expect(204, 'DELETE', `jails/jails/${jail['id']}/`);
  const left = await nas.machine.run(`
    cat /mnt/tank/media/film; zfs list -H -o name -r tank/jails; ls /run/netns 2>/dev/null
    ip -o link | grep -c jail || true; ls /etc/systemd/system | grep holdfast-jail || true`);
  assert.equal(left, 'a film\ntank/jails\ntank/jails/.template-5\n0\n');
  assert.deepEqual(await nas.api.list('jails/mountpoints/'), []);
});
