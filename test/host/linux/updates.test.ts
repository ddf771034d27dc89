import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { LinuxMachine } from '../../../src/host/linux/machine.ts';
import { scratchFolder } from '../../support/hosts.ts';
import { recordedRunner } from './support.ts';

const simulation = 'Inst bash [5.2-1] (5.2-2 Debian:13/stable [amd64])\n';

test('apt is asked for updates again only after packages, sources or its settings have changed', async (t) => {
  const root = scratchFolder(t);
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  write('var/lib/dpkg/status', 'one');
  const { runner, asked } = recordedRunner({ 'apt-get -q --simulate dist-upgrade': { stdout: simulation } });
  const machine = new LinuxMachine({ runner, root });
  const isAskedAgain = async () => {
    const before = asked.length;
    assert.deepEqual(
      (await machine.updates()).map(({ name }) => name),
      ['bash'],
    );
    return asked.length > before;
  };
  assert.equal(await isAskedAgain(), true);
  assert.equal(await isAskedAgain(), false);
  for (const path of [
    'var/lib/dpkg/status',
    'var/lib/apt/extended_states',
    'var/lib/apt/lists/example_dists_trixie_InRelease',
    'etc/apt/sources.list',
    'etc/apt/sources.list.d/own.sources',
    'etc/apt/preferences',
    'etc/apt/preferences.d/pin',
    'etc/apt/apt.conf.d/50own',
  ]) {
    write(path, 'one that is new');
    assert.equal(await isAskedAgain(), true, path);
    assert.equal(await isAskedAgain(), false, path);
  }
  rmSync(join(root, 'etc/apt/preferences.d/pin'));
  assert.equal(await isAskedAgain(), true);
});
