import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { jail } from '../../../src/areas/jails/jails.ts';
import type { Host } from '../../../src/host/ports/index.ts';
import { type JailMount, type Jails, jailService } from '../../../src/host/ports/jails.ts';
import { tar } from '../../../src/lib/tar.ts';
import { jailUnit } from '../../../src/subsystems/jails/jail-unit.ts';
import { freshConfiguration } from '../../subsystems/support/configuration.ts';
import { finallyOf, type HostUnderTest } from '../../support/hosts.ts';
import { freshName, poolOn, refused } from './support.ts';

const watch = { progress() {} };

/** A system of one program. It is copied into the folder on a real machine, and never runs on the virtual one. */
const system = {
  'etc/os-release': 'ID=small\n',
  'etc/hostname': 'builder\n',
  'etc/inittab': '::respawn:/bin/sleep 3600\n',
  'usr/share/about': 'A system for the contract of the ports.\n',
};
const addProgram =
  'mkdir -p bin sbin proc sys dev run tmp var root && cp /bin/busybox bin/ && ln -s busybox bin/sleep && ln -s ../bin/busybox sbin/init';

interface Place {
  readonly host: Host;
  /** A folder of a pool. */
  readonly folder: string;
}

async function placeOn(host: Host, t: TestContext): Promise<Place> {
  return { host, folder: `/mnt/${await poolOn(host, t)}` };
}

/** An empty folder for the root file system of a jail. */
async function emptyRoot({ host: { files }, folder }: Place, name: string): Promise<string> {
  await files.makeFolder(`${folder}/${name}`, { within: folder, mode: 0o755 });
  return `${folder}/${name}`;
}

/** Writes the unit of a jail that shares the network of the machine. */
async function writeUnit({ host: { files, jails, services } }: Place, t: TestContext, name: string, parts: Parts) {
  const draft = freshConfiguration();
  draft.plant(jail, { jail_host: name, jail_type: 'standard', jail_mac: '02:00:00:00:00:01', jail_vnet: false });
  const [record] = draft.all(jail);
  assert.ok(record !== undefined);
  const unit = jailUnit(record, { arch: 'x64', wants: [], ...parts });
  const path = `/etc/systemd/system/${jailService(name)}.service`;
  // The package's program for this is not there.
  const end = `ExecStop=-/bin/sh -c "kill -s USR2 $$(machinectl show --property=Leader --value -- ${name})"`;
  await files.write(
    path,
    unit.replace(/^ExecStop=.*$/m, () => end),
  );
  await services.reread();
  finallyOf(t, async () => {
    await jails.stop(name);
    await files.remove(path);
    await services.reread();
  });
}

interface Parts {
  readonly root: string;
  readonly mounts: readonly JailMount[];
}

/** Whether something is mounted there; systemd-nspawn itself mounts more, such as /tmp. */
async function isMounted(jails: Jails, name: string, destination: string): Promise<boolean | undefined> {
  return (await jails.look()).get(name)?.mounted.includes(destination);
}

/** A jail that can be started, with these mounts. */
async function jailOn(host: Host, t: TestContext, mounts: readonly string[] = []) {
  const place = await placeOn(host, t);
  const name = freshName('jail');
  const root = await emptyRoot(place, name);
  const archive = `${place.folder}/small.tar`;
  await host.files.write(archive, tar(new Map(Object.entries(system)), 0).toString('base64'), { encoding: 'base64' });
  await host.jails.furnish(root, { url: `file://${archive}`, arch: 'x64' }, watch);
  await host.commands.run({
    user: 'root',
    line: `cd '${root}' && ${addProgram}`,
    signal: new AbortController().signal,
    keep: 1000,
  });
  const source = await emptyRoot(place, 'shared');
  await writeUnit(place, t, name, {
    root,
    mounts: mounts.map((destination) => ({ source, destination, readonly: false })),
  });
  return { name, root, source, jails: host.jails };
}

export function describeJails(hosts: readonly HostUnderTest[]): void {
  for (const { title, start } of hosts) {
    describe(`jails on the ${title} host`, () => {
      test('a folder is filled from an archive; one that is not there leaves it as it was', async (t) => {
        const host = await start(t);
        const { root } = await jailOn(host, t);
        assert.match((await host.files.read(`${root}/etc/os-release`)) ?? '', /^ID=/);
        const place = await placeOn(host, t);
        const other = await emptyRoot(place, 'other');
        const missing = { url: `file://${place.folder}/missing/small.tar`, arch: 'x64' } as const;
        await refused(host.jails.furnish(other, missing, watch), /cannot fetch file:.*missing/);
        assert.equal(await host.files.kind(`${other}/etc`), undefined);
      });

      test('a jail that is started runs with its mounts, and is gone when it is stopped', async (t) => {
        const { jails, name } = await jailOn(await start(t), t, ['/srv/shared']);
        assert.equal((await jails.look()).has(name), false);
        await jails.start(name);
        assert.equal(await isMounted(jails, name, '/srv/shared'), true);
        await jails.start(name);
        assert.equal((await jails.look()).has(name), true, 'to start it once more changes nothing');
        await jails.stop(name);
        assert.equal((await jails.look()).has(name), false);
        await jails.stop(name);
      });

      test('a folder is mounted in a running jail and unmounted again', async (t) => {
        const { jails, name, source } = await jailOn(await start(t), t);
        const mount: JailMount = { source, destination: '/srv/more', readonly: true };
        await refused(jails.attach(name, mount), /./);
        await jails.start(name);
        await jails.attach(name, mount);
        assert.equal(await isMounted(jails, name, '/srv/more'), true);
        await jails.detach(name, '/srv/more');
        assert.equal(await isMounted(jails, name, '/srv/more'), false);
        await refused(jails.detach(name, '/srv/more'), /not mounted|no mount point/);
        await refused(jails.attach(name, { ...mount, source: `${source}-none` }), /No such file/);
      });

      test('a jail without a unit or a root file system does not start', async (t) => {
        const host = await start(t);
        await refused(host.jails.start(freshName('none')), /not found/);
        const place = await placeOn(host, t);
        const name = freshName('jail');
        await writeUnit(place, t, name, { root: `${place.folder}/none`, mounts: [] });
        await refused(host.jails.start(name), /./);
        assert.equal((await host.jails.look()).has(name), false);
      });
    });
  }
}
