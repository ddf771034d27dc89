import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jailSettings } from '../../../src/areas/jails/configuration.ts';
import { jail } from '../../../src/areas/jails/jails.ts';
import { jailMountPoint } from '../../../src/areas/jails/mountpoints.ts';
import { jailTemplate } from '../../../src/areas/jails/templates.ts';
import { plugin } from '../../../src/areas/plugins/plugins.ts';
import { LayeredDraft } from '../../../src/engine/configuration/draft.ts';
import { Tables } from '../../../src/engine/configuration/tables.ts';
import { lines } from '../../../src/lib/text.ts';
import { jailsSubsystem } from '../../../src/subsystems/jails/subsystem.ts';
import { pluginsSubsystem } from '../../../src/subsystems/plugins/subsystem.ts';
import { fileOf, machine } from '../support/configuration.ts';

const folder = '/etc/systemd/system';

function configured(manifest: object, enabled: boolean): LayeredDraft {
  const draft = new LayeredDraft(
    new Tables([jailSettings, jailTemplate, jail, jailMountPoint, plugin]),
    machine,
    new Map(),
  );
  draft.plant(jailSettings, { jc_path: '/mnt/tank' });
  draft.plant(jail, { jail_host: 'web', jail_type: 'standard' });
  draft.plant(plugin, {
    plugin_name: 'page',
    plugin_jail: 'web',
    plugin_jail_id: 1,
    plugin_ip: '2001:db8::1',
    plugin_port: 8080,
    plugin_path: '/opt/page',
    plugin_dataset: 'tank/.bundle-12345678',
    plugin_enabled: enabled,
    plugin_manifest: JSON.stringify({
      format: 1,
      name: 'page',
      version: '1',
      start: ['bin/run', '100% "$HOME"'],
      stop: ['bin/run', 'stop'],
      port: 8080,
      ...manifest,
    }),
  });
  return draft;
}

test('a plugin is a systemd unit that is bound to its jail and runs its commands there', () => {
  const desired = pluginsSubsystem.render(configured({}, true), machine);
  assert.equal(
    fileOf(desired, `${folder}/holdfast-plugin-1.service`),
    lines(
      '# Written by Holdfast.',
      '[Unit]',
      'Description=Plugin page in the jail web',
      'BindsTo=holdfast-jail-web.service',
      'After=holdfast-jail-web.service',
      '',
      '[Service]',
      'Type=oneshot',
      'RemainAfterExit=yes',
      String.raw`ExecStart=/usr/lib/holdfast/in-jail "web" "/opt/page" "bin/run" "100%% \"$$HOME\""`,
      'ExecStop=/usr/lib/holdfast/in-jail "web" "/opt/page" "bin/run" "stop"',
      'TimeoutStartSec=60',
      'TimeoutStopSec=30',
      'SyslogIdentifier=holdfast-plugin-1',
      'SystemCallFilter=~@clock @cpu-emulation @keyring @module @obsolete @raw-io @reboot @swap bpf perf_event_open',
      'SystemCallErrorNumber=EPERM',
    ),
  );
  assert.deepEqual(desired.owns, [`${folder}/holdfast-plugin-`, '/etc/holdfast/plugins/']);
});

test('the health check is in a file for the host', () => {
  for (const [health, asked] of [
    ['tcp', { by: 'tcp', address: '2001:db8::1', port: 8080 }],
    [{ http: '/a?b=c' }, { by: 'http', path: '/a?b=c', address: '2001:db8::1', port: 8080 }],
    [{ command: ['bin/run', 'status'] }, { by: 'command', words: ['bin/run', 'status'] }],
  ] as const)
    assert.deepEqual(
      JSON.parse(
        fileOf(pluginsSubsystem.render(configured({ health }, true), machine), '/etc/holdfast/plugins/1.json') ?? '',
      ),
      {
        jail: 'web',
        folder: '/opt/page',
        health: asked,
      },
    );
});

test('the jail mounts the bundle, and has Wants= for the plugin while it is enabled', () => {
  for (const enabled of [true, false]) {
    const subsystem =
      fileOf(jailsSubsystem.render(configured({}, enabled), machine), `${folder}/holdfast-jail-web.service`) ?? '';
    assert.match(subsystem, /"--bind-ro=\/mnt\/tank\/\.bundle-12345678:\/opt\/page"/);
    assert.equal(/^Wants=holdfast-plugin-1\.service$/m.test(subsystem), enabled);
  }
});
