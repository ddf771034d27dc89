import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { enabledUnits, isMasked } from '../../../src/host/linux/enabled-units.ts';
import { scratchFolder } from '../../support/hosts.ts';

/** A root with these links, each as `path -> target`, and these files. */
function rootWith(t: TestContext, links: readonly string[], files: readonly string[] = []): string {
  const root = scratchFolder(t);
  const place = (path: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    return join(root, path);
  };
  for (const link of links) {
    const [path = '', target = ''] = link.split(' -> ');
    symlinkSync(target, place(path));
  }
  for (const path of files) writeFileSync(place(path), '');
  return root;
}

test('a unit is enabled that another requires, wants or upholds, permanently or until the next boot', async (t) => {
  const root = rootWith(t, [
    'etc/systemd/system/multi-user.target.wants/cron.service -> /usr/lib/systemd/system/cron.service',
    'etc/systemd/system/zfs.target.requires/zfs-mount.service -> /usr/lib/systemd/system/zfs-mount.service',
    'run/systemd/system/x.target.upholds/y.service -> /usr/lib/systemd/system/y.service',
  ]);
  assert.deepEqual([...(await enabledUnits(root))].toSorted(), ['cron.service', 'y.service', 'zfs-mount.service']);
});

test('a unit with an alias is enabled, but not one that is masked or only linked from elsewhere', async (t) => {
  const root = rootWith(t, [
    'etc/systemd/system/sshd.service -> /usr/lib/systemd/system/ssh.service',
    'etc/systemd/system/smbd.service -> /dev/null',
    'etc/systemd/system/own.service -> /opt/own/own.service',
  ]);
  assert.deepEqual([...(await enabledUnits(root))], ['ssh.service']);
  assert.equal(await isMasked(root, 'smbd.service'), true);
  for (const name of ['own.service', 'sshd.service', 'absent.service'])
    assert.equal(await isMasked(root, name), false, name);
});

test('an init script counts only where no unit replaces it', async (t) => {
  const root = rootWith(
    t,
    [
      'etc/rc5.d/S01inadyn -> ../init.d/inadyn',
      'etc/rc5.d/S01smbd -> ../init.d/smbd',
      'etc/rc5.d/K01tgt -> ../init.d/tgt',
    ],
    ['usr/lib/systemd/system/smbd.service'],
  );
  assert.deepEqual([...(await enabledUnits(root))], ['inadyn.service']);
});

test('a machine without such folders enables nothing', async (t) => {
  assert.deepEqual([...(await enabledUnits(scratchFolder(t)))], []);
});
