import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually, journal, type Nas, startNas, untilReady } from '../support/lab/nas.ts';
import { runClient } from '../support/lab/network.ts';

/** One machine for the file: each test builds on the results of the earlier ones. */
let nas: Nas;

const address = '10.0.2.60';
const hidden = '10.9.0.2';

/**
 * A system of one program, as an archive with a checksum file, and with a device in it. Its apt only records its
 * arguments, because there are no packages here. There are two more archives: one with a wrong checksum, and a
 * malicious one with a file behind a link that leads outside.
 */
const template = `
  set -e
  R=/tmp/template; mkdir -p $R/bin $R/sbin $R/etc $R/proc $R/sys $R/dev $R/run $R/tmp $R/var $R/usr $R/root $R/www
  cp /bin/busybox $R/bin/busybox
  for name in sh httpd cat touch ip env; do ln -s busybox $R/bin/$name; done
  ln -s ../bin/busybox $R/sbin/init
  echo '::respawn:/bin/httpd -f -p 80 -h /www' >$R/etc/inittab
  echo 'root:x:0:0:root:/root:/bin/sh' >$R/etc/passwd
  echo 'ID=small' >$R/etc/os-release
  echo builder >$R/etc/hostname; echo ${'1'.repeat(32)} >$R/etc/machine-id
  echo 'a page of the jail' >$R/www/index.html
  printf '#!/bin/sh\\n[ -e /var/packages ] && cat /var/packages\\nexit 0\\n' >$R/bin/dpkg-query
  printf '%s\\n' '#!/bin/sh' 'echo "$*" >>/var/apt.log' 'case "$1" in install) echo "installed busybox" >/var/packages ;; purge) busybox rm -f /var/packages ;; esac' >$R/bin/apt-get
  chmod 755 $R/bin/dpkg-query $R/bin/apt-get
  mknod $R/dev/disk b 98 32
  cd $R; tar -cf /tmp/web.tar .
  mkdir -p /srv/templates; gzip -c /tmp/web.tar >/srv/templates/web.tar.gz
  mkdir -p /tmp/evil/leads; ln -s /etc /tmp/evil/out; echo owned >/tmp/evil/leads/holdfast-evil
  cd /tmp/evil; tar -rf /tmp/web.tar out; tar -rf /tmp/web.tar --transform='s/^leads/out/' leads/holdfast-evil
  gzip -c /tmp/web.tar >/srv/templates/evil.tar.gz
  cp /srv/templates/web.tar.gz /srv/templates/wrong.tar.gz
  cd /srv/templates; for i in web evil; do sha256sum $i.tar.gz >$i.tar.gz.sha256; done; cp web.tar.gz bare.tar.gz; echo ${'0'.repeat(64)} >wrong.tar.gz.sha256
  busybox httpd -p 127.0.0.1:8081 -h /srv/templates`;

before(async () => {
  nas = await startNas({ disks: 2, lasting: true });
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }],
  });
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

const pageComes = (path: string, expected: string) =>
  eventually(30, async () => assert.equal(await page(path), expected));

async function theJail(): Promise<Readonly<Record<string, unknown>>> {
  const [jail] = await nas.api.list('jails/jails/?jail_host=web');
  assert.ok(jail !== undefined);
  return jail;
}

test('an archive with a wrong checksum is refused, and so is one that leads outside; neither leaves anything', async () => {
  for (const [name, words] of [
    ['wrong', /does not match its checksum/],
    ['bare', /has no checksum/],
    ['evil', /holdfast-evil: Cannot open/],
  ] as const) {
    await nas.api.expect(201, 'POST', 'jails/templates/', {
      jt_name: name,
      jt_os: 'Linux',
      jt_arch: 'x64',
      jt_url: `http://127.0.0.1:8081/${name}.tar.gz`,
    });
    const answer = await nas.api.post('jails/jails/', { jail_host: 'never', jail_type: name });
    assert.equal(answer.status, 400);
    assert.match(answer.text, words);
  }
  assert.equal(
    await nas.machine.run('zfs list -H -o name -r tank/jails; find /etc -name holdfast-evil'),
    'tank/jails\n',
  );
});

test('a jail with its own address answers ping and serves a page to the outside', async () => {
  await nas.api.expect(201, 'POST', 'jails/templates/', {
    jt_name: 'small',
    jt_os: 'Linux',
    jt_arch: 'x64',
    jt_url: 'http://127.0.0.1:8081/web.tar.gz',
  });
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
  const identity = await nas.machine.run(
    'nsenter --uts --target=$(machinectl show web -p Leader --value) hostname; cat /mnt/tank/jails/web/etc/machine-id; ls /mnt/tank/jails/web/etc',
  );
  assert.match(identity, /^web\n/);
  assert.doesNotMatch(identity, /1{32}|^hostname$/m);
  const [small] = (await nas.api.list('jails/templates/')).filter((one) => one['jt_name'] === 'small');
  assert.equal(small?.['jt_instances'], 1);
});

test('devices of the archive are removed', async () => {
  assert.equal(await nas.machine.run('find /mnt/tank/jails/web /mnt/tank/jails/.template-* -xdev -type b'), '');
});

test('its limits and its hardware address are those of its record', async () => {
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

test('a dataset is mounted read-only in the running jail, and unmounted again', async () => {
  const mount = await nas.api.expect(201, 'POST', 'jails/mountpoints/', {
    jail: 'web',
    source: '/mnt/tank/media',
    destination: '/www/media',
    readonly: true,
  });
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

test('it is stopped and started, and its status shows this', async () => {
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

// Plugins ------------------------------------------------------------------------------------------------------------

const bundles = '/usr/share/holdfast/plugins';

async function pluginCalled(name: string): Promise<Readonly<Record<string, unknown>>> {
  const record = (await nas.api.list('plugins/plugins/')).find((one) => one['plugin_name'] === name);
  assert.ok(record !== undefined, `no plugin ${name}`);
  return record;
}

const statusBecomes = (name: string, status: string) =>
  eventually(30, async () => assert.equal((await pluginCalled(name))['plugin_status'], status));

test('a malicious bundle and one with a wrong manifest are refused and leave nothing', async () => {
  await nas.machine.run(`
    mkdir -p /srv/bundles/evil/leads /srv/bundles/wrong /srv/bundles/device /srv/bundles/secret; cd /srv/bundles
    cp ${bundles}/webpage/plugin.json evil; cp ${bundles}/webpage/plugin.json device; mknod device/disk b 98 32
    ln -s /etc evil/out; echo owned >evil/leads/holdfast-evil; ln -s /etc/shadow secret/plugin.json
    tar -cf evil.tar -C evil plugin.json out; tar -rf evil.tar -C evil --transform='s/^leads/out/' leads/holdfast-evil
    tar -cPf above.tar --transform='s/^/..\\//' -C evil leads/holdfast-evil
    echo '{"format": 1, "name": "Wrong", "start": "sh -c true", "port": 0, "colour": "red"}' >wrong/plugin.json`);
  for (const [name, words] of [
    ['evil.tar', /holdfast-evil: Cannot open/],
    ['above.tar', /would lie outside of it/],
    ['device', /neither a file nor a folder nor a link/],
    ['secret', /plugin\.json is a link|too many symbolic links|plugin\.json/],
    [
      'wrong',
      /name: The name may.*start: Expected a list of strings.*port: Expected a number between 1 and 65535, got 0.*version: This field is required.*stop: This field is required.*colour/,
    ],
    ['none', /no such file/],
  ] as const) {
    const answer = await nas.api.post('/api/holdfast/v1/plugins', { bundle: `/srv/bundles/${name}`, jail: 'web' });
    assert.equal(answer.status, 400, `${name}: ${answer.text}`);
    assert.match(answer.text, words);
    assert.doesNotMatch(answer.text, /root:/);
  }
  assert.equal(
    await nas.machine.run(
      'zfs list -H -o name -r tank/jails | grep bundle || true; find /etc /mnt/tank/jails/web -name "holdfast-evil"',
    ),
    '',
  );
});

test('a plugin is installed from the command line, serves its page to the outside, and runs in the jail', async () => {
  const told = await nas.machine.run(`holdfast plugin install ${bundles}/webpage --jail web --enable`);
  assert.match(
    told,
    new RegExp(
      `Installed the plugin webpage 1\\.0 in the jail web as number \\d+\\. It serves http://${address}:8080/`,
    ),
  );
  const record = await pluginCalled('webpage');
  assert.deepEqual(
    [record['plugin_status'], record['plugin_enabled'], record['plugin_ip'], record['plugin_path']],
    ['RUNNING', true, address, '/opt/webpage'],
  );
  const answer = await fetch(`http://${address}:8080/`, { signal: AbortSignal.timeout(5000) });
  assert.match(await answer.text(), /This page comes from a plugin/);
  assert.equal(
    await nas.machine.run('cat /mnt/tank/jails/web/var/apt.log'),
    'update --quiet\ninstall --quiet --yes --no-install-recommends -- busybox\n',
  );
  const shown = await nas.machine.run(`
    P=$(pgrep -f '[h]ttpd -f -p 8080')
    cat /proc/$P/cgroup; grep CapBnd /proc/$P/status; grep Seccomp: /proc/$P/status; grep CapBnd /proc/$(machinectl show web --property=Leader --value)/status`);
  assert.match(shown, /holdfast-jail-web\.service/);
  const [mine, jails] = [...shown.matchAll(/CapBnd:\s*([0-9a-f]+)/g)].map(([, mask]) => mask);
  assert.equal(mine, jails, 'it may do no more than its jail');
  assert.match(shown, /Seccomp:\s*2/);
});

test('a second plugin, from a fetched archive, lists a dataset that is mounted in the jail', async () => {
  await nas.machine.run(
    `tar -czf /srv/templates/fileindex.tar.gz -C ${bundles}/fileindex .; cd /srv/templates; sha256sum fileindex.tar.gz >fileindex.tar.gz.sha256`,
  );
  await nas.api.expect(201, 'POST', 'jails/mountpoints/', {
    jail: 'web',
    source: '/mnt/tank/media',
    destination: '/media',
    readonly: true,
  });
  const { id, plugin_status } = await nas.api.expect(200, 'POST', '/api/holdfast/v1/plugins', {
    bundle: 'http://127.0.0.1:8081/fileindex.tar.gz',
    jail: 'web',
  });
  assert.equal(plugin_status, 'STOPPED');
  assert.equal((await nas.api.post(`plugins/plugins/${id}/start/`)).text, 'Plugin started.');
  assert.equal((await pluginCalled('fileindex'))['plugin_status'], 'RUNNING');
  const list = await fetch(`http://${address}:8090/cgi-bin/list`, { signal: AbortSignal.timeout(5000) });
  assert.match(await list.text(), /<a href="\/cgi-bin\/list\/film">film<\/a>/);
  const film = await fetch(`http://${address}:8090/cgi-bin/list/film`, { signal: AbortSignal.timeout(5000) });
  assert.equal(await film.text(), 'a film\n');
  assert.equal(
    (await fetch(`http://${address}:8090/cgi-bin/list/..%2f..%2fetc/passwd`, { signal: AbortSignal.timeout(5000) }))
      .status,
    404,
  );
});

test('a plugin is stopped and started; one that ended by itself is reported, and one that does not start gives the reason', async () => {
  const { id } = await pluginCalled('webpage');
  assert.equal((await nas.api.post(`plugins/plugins/${id}/stop/`)).text, 'Plugin stopped.');
  const stopped = await pluginCalled('webpage');
  assert.deepEqual([stopped['plugin_status'], stopped['plugin_enabled']], ['STOPPED', true]);
  await assert.rejects(fetch(`http://${address}:8080/`, { signal: AbortSignal.timeout(5000) }));
  assert.equal((await nas.api.post(`plugins/plugins/${id}/start/`)).status, 202);
  assert.equal((await pluginCalled('webpage'))['plugin_status'], 'RUNNING');
  await nas.machine.run(`pkill -f '[h]ttpd -f -p 8080'`);
  await statusBecomes('webpage', 'UNKNOWN');
  assert.equal((await nas.api.post(`plugins/plugins/${id}/stop/`)).status, 202);
  await nas.machine.run(`
    mkdir -p /srv/bundles/broken; cd /srv/bundles/broken
    echo '{"format": 1, "name": "broken", "version": "1", "start": ["sh", "-c", "echo out of $0 >&2; exit 3", "luck"], "stop": ["sh", "-c", "exit 0"], "port": 9000}' >plugin.json`);
  const broken = await nas.api.expect(200, 'POST', '/api/holdfast/v1/plugins', {
    bundle: '/srv/bundles/broken',
    jail: 'web',
  });
  const answer = await nas.api.post(`plugins/plugins/${broken['id']}/start/`);
  assert.equal(answer.status, 400);
  assert.match(answer.text, /^\{"error":"its start command failed: out of luck"\}$/);
  await nas.api.expect(204, 'DELETE', `plugins/plugins/${broken['id']}/`);
});

test('a jail starts with its enabled plugins only', async () => {
  const { id } = await theJail();
  assert.equal((await nas.api.post(`jails/jails/${id}/restart/`)).status, 202);
  await statusBecomes('webpage', 'RUNNING');
  assert.equal((await pluginCalled('fileindex'))['plugin_status'], 'STOPPED');
  await assert.rejects(fetch(`http://${address}:8090/`, { signal: AbortSignal.timeout(5000) }));
});

test('two jails reach one another, and a jail without an outside address is reached from the machine', async () => {
  await nas.api.expect(201, 'POST', 'jails/jails/', {
    jail_host: 'inner',
    jail_type: 'small',
    jail_ipv4: hidden,
    jail_bridge_ipv4: '10.9.0.1',
    jail_autostart: false,
  });
  const leader = (await nas.machine.run('machinectl show inner --property=Leader --value')).trim();
  const seen = await eventually(20, () =>
    nas.machine.run(
      `nsenter -t ${leader} -n busybox wget -q -O - http://${address}/; busybox wget -q -O - http://${hidden}/`,
    ),
  );
  assert.equal(seen, 'a page of the jail\na page of the jail\n');
});

test('after a restart of the machine it runs again completely, and a jail without autostart does not', async () => {
  await nas.machine.reboot();
  await untilReady(nas.api);
  await eventually(90, async () => assert.equal((await theJail())['jail_status'], 'Running'));
  await pageComes('/media/film', '200 a film');
  const [inner] = await nas.api.list('jails/jails/?jail_host=inner');
  assert.equal(inner?.['jail_status'], 'Stopped');
  await statusBecomes('webpage', 'RUNNING');
});

test('a jail cannot be deleted while it has a plugin, and deleted plugins leave nothing', async () => {
  const jail = await theJail();
  const refusal = await nas.api.send('DELETE', `jails/jails/${jail['id']}/`);
  assert.equal(refusal.status, 400);
  assert.match(refusal.text, /"error_message":"The plugin .* is installed in the jail/);
  const look = () =>
    nas.machine.run(
      `ls /mnt/tank/jails/web/opt; ls /etc/systemd/system /etc/holdfast/plugins | grep -E 'plugin-|json' || true; zfs list -H -o name -r tank/jails | grep -c bundle || true; tail -1 /mnt/tank/jails/web/var/apt.log`,
    );
  await nas.api.expect(204, 'DELETE', `plugins/plugins/${(await pluginCalled('webpage'))['id']}/`);
  await assert.rejects(fetch(`http://${address}:8080/`, { signal: AbortSignal.timeout(5000) }));
  assert.match(
    await look(),
    /^fileindex\n\d+\.json\nholdfast-plugin-\d+\.service\n1\ninstall /,
    'what the other needs of the packages stays',
  );
  await nas.api.expect(204, 'DELETE', `plugins/plugins/${(await pluginCalled('fileindex'))['id']}/`);
  assert.equal(await look(), '0\npurge --quiet --yes --autoremove -- busybox\n');
  await pageComes('/', '200 a page of the jail');
});

test('a jail that is created for a plugin is deleted with it', async () => {
  const [template] = (await nas.api.list('jails/templates/')).filter((one) => one['jt_name'] === 'pluginjail');
  await nas.api.expect(200, 'PUT', `jails/templates/${template?.['id']}/`, {
    jt_url: 'http://127.0.0.1:8081/web.tar.gz',
  });
  await nas.api.expect(200, 'PUT', 'jails/configuration/', {
    jc_ipv4_network: '10.0.2.0/24',
    jc_ipv4_network_start: '10.0.2.70',
    jc_ipv4_network_end: '10.0.2.79',
  });
  await nas.machine.run('busybox httpd -p 127.0.0.1:8081 -h /srv/templates || true');
  const record = await nas.api.expect(200, 'POST', '/api/holdfast/v1/plugins', { bundle: `${bundles}/webpage` });
  assert.deepEqual([record['plugin_jail'], record['plugin_ip']], ['webpage', '10.0.2.70']);
  assert.equal((await nas.api.post(`plugins/plugins/${record['id']}/start/`)).status, 202);
  assert.equal((await fetch('http://10.0.2.70:8080/', { signal: AbortSignal.timeout(5000) })).status, 200);
  await nas.api.expect(204, 'DELETE', `plugins/plugins/${record['id']}/`);
  assert.deepEqual(await nas.api.list('jails/jails/?jail_host=webpage'), []);
  await eventually(20, async () =>
    assert.equal(await nas.machine.run('zfs list -H -o name -r tank/jails | grep -E "bundle|webpage" || true'), ''),
  );
});

test('deleted jails leave neither datasets nor links, and the datasets mounted in them stay', async () => {
  for (const jail of await nas.api.list('jails/jails/'))
    await nas.api.expect(204, 'DELETE', `jails/jails/${jail['id']}/`);
  // The kernel removes the links of a network namespace some time after its last process has ended.
  await eventually(20, async () =>
    assert.equal(
      await nas.machine.run(`
        cat /mnt/tank/media/film; zfs list -H -o name -r tank/jails; ls /run/netns 2>/dev/null
        ip -o link | grep -c jail || true; ls /etc/systemd/system | grep holdfast-jail || true`),
      'a film\ntank/jails\ntank/jails/.template-2\ntank/jails/.template-6\n0\n',
    ),
  );
  assert.deepEqual(await nas.api.list('jails/mountpoints/'), []);
});

test('a file makes a template, a jail, a mount point and a plugin; applied again it changes nothing', async () => {
  const file = `holdfast: 1
dataset:
  tank/books: {}
jail/template:
  filed: { os: Linux, arch: x64, url: 'http://127.0.0.1:8081/web.tar.gz' }
jail:
  shelf: { type: filed, ipv4: ${address}, flags: 'memory=64M' }
jail/mountpoint:
  shelf /www/books: { jail: shelf, source: /mnt/tank/books, destination: /www/books, readonly: true }
plugin:
  shelf webpage: { jail: shelf, name: webpage, bundle: ${bundles}/webpage, enabled: true }
  shelf fileindex: { jail: shelf, name: other, bundle: ${bundles}/fileindex }
`;
  await nas.machine.run(`cat >/root/site.yaml <<'END_OF_FILE'\n${file}END_OF_FILE`);
  assert.match((await nas.machine.tryRun('holdfast apply -f /root/site.yaml --plan')).output, /start the jail shelf/);
  assert.deepEqual(await nas.api.list('jails/jails/'), [], 'a plan makes nothing');
  const applied = await nas.machine.tryRun('holdfast apply -f /root/site.yaml');
  assert.equal(applied.status, 7, `one plugin has another name than its bundle: ${applied.output}`);
  assert.match(applied.output, /^site\.yaml:12: plugin "shelf fileindex": Expected the plugin "other"/m);
  await nas.machine.run(`echo 'a book' >/mnt/tank/books/book`);
  await pageComes('/books/book', '200 a book');
  await nas.machine.run(`
    sed -i 's/name: other/name: fileindex/' /root/site.yaml
    holdfast apply -f /root/site.yaml
    holdfast apply -f /root/site.yaml | grep -x 'Nothing differs\\.'
    holdfast export >/root/exported.yaml; holdfast diff -f /root/exported.yaml`);
  assert.match(await nas.machine.run('systemctl show holdfast-jail-shelf --property=MemoryMax'), /MemoryMax=67108864/);
  assert.equal(await (await fetch(`http://${address}:8080/`, { signal: AbortSignal.timeout(5000) })).status, 200);
  assert.deepEqual(
    (await nas.api.list('plugins/plugins/')).map((one) => [
      one['plugin_name'],
      one['plugin_jail'],
      one['plugin_status'],
    ]),
    [
      ['fileindex', 'shelf', 'STOPPED'],
      ['webpage', 'shelf', 'RUNNING'],
    ],
  );
});
