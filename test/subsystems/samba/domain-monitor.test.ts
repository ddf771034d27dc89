import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { scratchFolder } from '../../support/hosts.ts';

const script = fileURLToPath(new URL('../../../packaging/domain-monitor', import.meta.url));

/** What the monitor says and orders in three rounds in which the domain does not respond. */
function rounds(t: TestContext, winbind: { readonly state: string; readonly job?: string; readonly age?: number }) {
  const folder = scratchFolder(t);
  const program = (name: string, text: string) =>
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  const orders = join(folder, 'orders');
  writeFileSync(orders, '');
  // It ends when its sleep fails.
  program('sleep', `echo round >>'${folder}/rounds'; [ "$(wc -l <'${folder}/rounds')" -le 3 ]`);
  program('timeout', 'exit 1');
  program(
    'systemctl',
    `case "$*" in
      'show -P ActiveState winbind') echo ${winbind.state};;
      'show -P Job winbind') echo ${winbind.job ?? ''};;
      'show -P ActiveEnterTimestampMonotonic winbind')
        read -r uptime _ </proc/uptime; echo $(((\${uptime%.*} - ${winbind.age ?? 100}) * 1000000));;
      *) echo "$*" >>'${orders}';;
    esac`,
  );
  const { stdout } = spawnSync(script, ['60', '2'], { encoding: 'utf8', env: { PATH: `${folder}:/usr/bin:/bin` } });
  return { said: stdout.trim().split('\n').filter(Boolean).length, orders: readFileSync(orders, 'utf8') };
}

test('winbind is restarted as often as allowed while the domain does not respond, also when it has ended', (t) => {
  for (const state of ['active', 'inactive', 'failed'])
    assert.deepEqual(rounds(t, { state }), { said: 3, orders: 'restart winbind\nrestart winbind\n' }, state);
});

test('a restart by somebody else is not ended by another one', (t) => {
  for (const winbind of [
    { state: 'deactivating' },
    { state: 'activating' },
    { state: 'inactive', job: '512' },
    { state: 'active', age: 5 },
  ])
    assert.deepEqual(rounds(t, winbind), { said: 0, orders: '' }, JSON.stringify(winbind));
});
