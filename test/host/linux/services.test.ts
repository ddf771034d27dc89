import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { LinuxServices } from '../../../src/host/linux/services.ts';
import {
  journalMatches,
  readLastWords,
  readStarted,
  readUnits,
  unitEventReader,
} from '../../../src/host/linux/services-read.ts';
import { HostError } from '../../../src/host/ports/index.ts';
import { messageOf } from '../../../src/lib/text.ts';
import { scratchFolder } from '../../support/hosts.ts';
import { recordedRunner, recording } from './support.ts';

const properties =
  '--property=ActiveState,SubState,UnitFileState,LoadState,CanReload,Type,Result,ExecMainStatus,InactiveExitTimestampMonotonic,NRestarts,ConditionResult,Job';
const show = (...units: readonly string[]) => `systemctl show ${properties} -- ${units.join(' ')}`;
const listUnitsByNames =
  'busctl --json=short call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager ListUnitsByNames';
const unit = (members: Readonly<Record<string, string>>) =>
  Object.entries({
    ActiveState: 'active',
    SubState: 'running',
    UnitFileState: 'enabled',
    LoadState: 'loaded',
    CanReload: 'yes',
    Type: 'notify',
    NRestarts: '0',
    ConditionResult: 'yes',
    ...members,
  })
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');

describe('services', () => {
  test('one call reports the state of several services', async (t) => {
    const root = scratchFolder(t);
    mkdirSync(join(root, 'etc/systemd/system/multi-user.target.wants'), { recursive: true });
    for (const name of ['cron', 'none'])
      symlinkSync(
        `/usr/lib/systemd/system/${name}.service`,
        join(root, `etc/systemd/system/multi-user.target.wants/${name}.service`),
      );
    const names = ['cron', 'proftpd', 'none', 'nfs-server'];
    const units = names.map((name) => `${name}.service`);
    const { runner, asked } = recordedRunner({
      [`${listUnitsByNames} as 5 ${units.join(' ')} shutdown.target`]: { stdout: recording('units-by-name.json') },
    });
    assert.deepEqual(
      [...(await new LinuxServices({ runner, root }).states(names))],
      [
        ['cron', { running: true, enabled: true, installed: true }],
        ['proftpd', { running: false, enabled: false, installed: true }],
        ['none', { running: false, enabled: false, installed: false }],
        ['nfs-server', { running: false, enabled: false, installed: true }],
      ],
    );
    assert.equal(asked.length, 1);
  });

  test('while the machine is shut down, services that end are changing', async (t) => {
    const look = `${listUnitsByNames} as 2 cron.service shutdown.target`;
    const of = (name: string, state: string, detail: string, job: number) => [
      name,
      name,
      'loaded',
      state,
      detail,
      '',
      '/',
      job,
      job === 0 ? '' : 'start',
      '/',
    ];
    const seen = async (...units: readonly (readonly (string | number)[])[]) => {
      const { runner } = recordedRunner({
        [look]: { stdout: JSON.stringify({ type: 'a(ssssssouso)', data: [units] }) },
      });
      return (await new LinuxServices({ runner, root: scratchFolder(t) }).states(['cron'])).get('cron')?.phase;
    };
    const [idle, shutting] = [
      of('shutdown.target', 'inactive', 'dead', 0),
      of('shutdown.target', 'inactive', 'dead', 7),
    ];
    assert.equal(await seen(of('cron.service', 'inactive', 'dead', 0), idle), undefined);
    assert.equal(await seen(of('cron.service', 'failed', 'failed', 0), idle), 'failed');
    assert.equal(await seen(of('cron.service', 'activating', 'auto-restart', 0), idle), 'failed');
    assert.equal(await seen(of('cron.service', 'activating', 'start', 0), idle), 'changing');
    assert.equal(await seen(of('cron.service', 'inactive', 'dead', 8), idle), 'changing');
    assert.equal(await seen(of('cron.service', 'failed', 'failed', 0), shutting), 'changing');
  });

  const unitFolder = '/org/freedesktop/systemd1/unit';
  const signal = (path: string, properties: object) =>
    JSON.stringify({ type: 'signal', path, payload: { type: 'sa{sv}as', data: ['x', properties, []] } });
  const states = (ActiveState: string, job = 0) => ({
    ActiveState: { type: 's', data: ActiveState },
    SubState: { type: 's', data: 'x' },
    Job: { type: '(uo)', data: [job, '/'] },
  });

  test('a signal of the service manager names the service', () => {
    const read = unitEventReader();
    assert.equal(read(signal(`${unitFolder}/nfs_2dserver_2eservice`, states('failed'))), 'nfs-server');
    assert.equal(read(signal(`${unitFolder}/getty_40tty1_2eservice`, states('failed'))), 'getty@tty1');
    assert.equal(read(signal(`${unitFolder}/tank_2emount`, states('failed'))), 'tank.mount');
    assert.equal(read(signal(`${unitFolder}/cron_2eservice`, { NRestarts: { type: 'u', data: 1 } })), undefined);
    assert.equal(read('"ActiveState" but no JSON'), undefined);
    fc.assert(fc.property(fc.string(), (line) => read(`${line}"ActiveState"`) === undefined));
  });

  test('a signal that repeats the state of a service causes no look', () => {
    const read = unitEventReader();
    const smbd = (state: string, job?: number) => read(signal(`${unitFolder}/smbd_2eservice`, states(state, job)));
    assert.equal(smbd('active'), 'smbd');
    assert.equal(smbd('active'), undefined);
    assert.equal(read(signal(`${unitFolder}/nmbd_2eservice`, states('active'))), 'nmbd');
    assert.equal(smbd('active'), undefined);
    assert.equal(smbd('reloading', 7), undefined);
    assert.equal(smbd('active', 7), undefined);
    assert.equal(smbd('deactivating', 7), 'smbd');
    assert.equal(smbd('inactive', 7), 'smbd');
    assert.equal(smbd('inactive'), 'smbd');
    assert.equal(smbd('active'), 'smbd');
    assert.equal(smbd('active'), undefined);
  });

  test('who listens on a port is read from ss, and its service from the control group of the process', async (t) => {
    const root = scratchFolder(t);
    const inService: Readonly<Record<number, string>> = {
      71: '0::/system.slice/ssh.service\n',
      80: '0::/user.slice/user-0.slice/session-1.scope\n',
      90: '0::/system.slice/system-holdfast.slice/tftpd-hpa.service/payload\n',
    };
    for (const [pid, text] of Object.entries(inService)) {
      mkdirSync(join(root, 'proc', pid), { recursive: true });
      writeFileSync(join(root, 'proc', pid, 'cgroup'), text);
    }
    const { runner } = recordedRunner({
      'ss --no-header --listening --numeric --tcp --udp --processes': {
        stdout: [
          'udp   UNCONN 0      0      0.0.0.0:69  0.0.0.0:*    users:(("in.tftpd",pid=90,fd=4))',
          'tcp   LISTEN 0      128    0.0.0.0:22  0.0.0.0:*    users:(("sshd",pid=71,fd=3))',
          'tcp   LISTEN 0      128       [::]:22     [::]:*    users:(("sshd",pid=71,fd=4))',
          'tcp   LISTEN 0      64           *:2049      *:*    ',
          'tcp   LISTEN 0      5      127.0.0.53%lo:21 0.0.0.0:* users:(("nc",pid=80,fd=3),("nc",pid=81,fd=3))',
          'tcp   LISTEN 0      5      [::1]:873 [::]:* users:(("gone",pid=99,fd=3))',
          '',
        ].join('\n'),
      },
    });
    const asked = (protocol: 'TCP' | 'UDP', port: number, address?: string) => ({ protocol, port, address, units: [] });
    const sshd = { program: 'sshd', pid: 71, unit: 'ssh' };
    assert.deepEqual(
      await new LinuxServices({ runner, root }).listeners([
        asked('UDP', 69),
        asked('TCP', 69),
        asked('TCP', 22),
        asked('TCP', 2049),
        asked('TCP', 21),
        asked('TCP', 21, '192.0.2.7'),
        asked('TCP', 22, '192.0.2.7'),
        asked('TCP', 873, '::1'),
      ]),
      [
        [{ program: 'in.tftpd', pid: 90, unit: 'tftpd-hpa' }],
        [],
        [sshd, sshd],
        [{ program: undefined, pid: undefined, unit: undefined }],
        [{ program: 'nc', pid: 80, unit: undefined }],
        [],
        [sshd, sshd],
        [{ program: 'gone', pid: 99, unit: undefined }],
      ],
    );
  });

  test('a service that did not start does not start at the next boot either', async (t) => {
    const InactiveExitTimestampMonotonic = String(process.hrtime.bigint());
    const { runner, asked } = recordedRunner({
      [show('x.service')]: {
        stdout: unit({ ActiveState: 'failed', Result: 'timeout', InactiveExitTimestampMonotonic }),
      },
      'systemctl --root=/ enable x.service': {},
      'systemctl --root=/ disable x.service': {},
      'systemctl --no-ask-password --quiet start x.service': { status: 1 },
      'systemctl show --value --property=ExecStartPre,ExecStart,ExecStartPost -- x.service': {},
      'journalctl --sync': {},
    });
    const services = new LinuxServices({
      root: scratchFolder(t),
      runner: {
        ...runner,
        run: (argv, options) =>
          argv.includes('--output=json') ? runner.run(['journalctl', '--sync']) : runner.run(argv, options),
      },
    });
    await assert.rejects(services.start('x'), /x did not start: its result was timeout/);
    assert.equal(asked.at(-1), 'systemctl --root=/ disable x.service');
  });

  test('a service whose unit has a condition that is not met is told apart from one that failed', async () => {
    for (const skipped of [{ Result: 'exec-condition' }, { ConditionResult: 'no' }]) {
      const { runner } = recordedRunner({
        [show('nmbd.service')]: { stdout: unit({ ActiveState: 'inactive', SubState: 'dead', ...skipped }) },
        'systemctl --no-ask-password --quiet restart nmbd.service': {},
      });
      await assert.rejects(
        new LinuxServices({ runner, root: '/' }).restart('nmbd'),
        /nmbd was not started, because a condition of its unit is not met: systemctl status nmbd\.service /,
      );
    }
  });

  test('a service whose new alias another unit refers to is stopped during the daemon-reload', async (t) => {
    const root = scratchFolder(t);
    const links = [
      "Created symlink '/etc/systemd/system/sshd.service' → '/usr/lib/systemd/system/ssh.service'.",
      "Created symlink '/etc/systemd/system/multi-user.target.wants/ssh.service' → '/usr/lib/systemd/system/ssh.service'.",
    ];
    const named = 'systemctl list-units --all --plain --no-legend -- sshd.service';
    const outcomes = {
      [show('ssh.service')]: { stdout: unit({}) },
      'systemctl --root=/ enable ssh.service': { stderr: `${links.join('\n')}\n` },
      'systemctl --no-ask-password --quiet stop ssh.service': {},
      'systemctl --no-ask-password --quiet daemon-reload': {},
      'systemctl --no-ask-password --quiet start ssh.service': {},
    };
    const known = recordedRunner({
      ...outcomes,
      [named]: { stdout: 'sshd.service not-found inactive dead sshd.service\n' },
    });
    await new LinuxServices({ runner: known.runner, root }).start('ssh');
    assert.deepEqual(
      known.asked.filter((argv) => / (enable|stop|daemon-reload|start)\b/.test(argv)),
      Object.keys(outcomes).filter((argv) => / (enable|stop|daemon-reload|start)\b/.test(argv)),
    );
    const unknown = recordedRunner({ ...outcomes, [named]: {} });
    await new LinuxServices({ runner: unknown.runner, root }).start('ssh');
    assert.ok(!unknown.asked.some((argv) => argv.includes('daemon-reload')));
  });

  test('a service that cannot reload is restarted', async () => {
    const { runner, asked } = recordedRunner({
      'systemctl --no-ask-password --quiet reload cron.service': { status: 1, stderr: 'not applicable' },
      [show('cron.service')]: { stdout: unit({ CanReload: 'no' }) },
      'systemctl --no-ask-password --quiet restart cron.service': {},
    });
    await new LinuxServices({ runner, root: '/' }).reload(['cron']);
    assert.ok(asked.includes('systemctl --no-ask-password --quiet restart cron.service'));
  });

  test('several services are reloaded by one call, and none where one does not run', async () => {
    const reload = 'systemctl --no-ask-password --quiet reload smbd.service nmbd.service';
    const both = show('smbd.service nmbd.service');
    const running = recordedRunner({ [both]: { stdout: `${unit({})}\n${unit({})}` }, [reload]: {} });
    await new LinuxServices({ runner: running.runner, root: '/' }).reload(['smbd', 'nmbd']);
    assert.deepEqual(running.asked, [both, reload]);
    const ended = recordedRunner({ [both]: { stdout: `${unit({})}\n${unit({ ActiveState: 'inactive' })}` } });
    await assert.rejects(
      new LinuxServices({ runner: ended.runner, root: '/' }).reload(['smbd', 'nmbd']),
      /nmbd\.service is not active/,
    );
    assert.deepEqual(ended.asked, [both]);
  });

  test('a service that is still starting is reloaded once it has started', async () => {
    const { runner, asked } = recordedRunner({ 'systemctl --no-ask-password --quiet reload nmbd.service': {} });
    let looks = 0;
    let isFirst = true;
    const services = new LinuxServices({
      root: '/',
      runner: {
        ...runner,
        async run(argv, options) {
          if (argv[1] !== 'show') {
            const outcome = isFirst ? { status: 1, stdout: '', stderr: 'nmbd.service is not active' } : undefined;
            isFirst = false;
            return outcome ?? runner.run(argv, options);
          }
          looks += 1;
          return {
            status: 0,
            stdout: unit(looks < 3 ? { ActiveState: 'activating', SubState: 'start' } : {}),
            stderr: '',
          };
        },
      },
    });
    await services.reload(['nmbd']);
    assert.equal(looks, 3);
    assert.deepEqual(asked, ['systemctl --no-ask-password --quiet reload nmbd.service']);
  });

  test('a service that was started too often for systemd is started once more, whatever its last result', async () => {
    const start = 'systemctl --no-ask-password --quiet restart x.service';
    const reset = 'systemctl --quiet reset-failed x.service';
    const microseconds = () => String(process.hrtime.bigint() / 1000n);
    /** Restarts a service whose first start fails and whose second succeeds. */
    const restarted = async (result: string, tried: () => string) => {
      const { runner, asked } = recordedRunner({ [reset]: {} });
      let starts = 0;
      const services = new LinuxServices({
        root: '/',
        runner: {
          ...runner,
          async run(argv, options) {
            if (argv.join(' ') === start) {
              starts += 1;
              return { status: starts > 1 ? 0 : 1, stdout: '', stderr: '' };
            }
            if (argv[1] === 'show') {
              const failed = { ActiveState: 'failed', Result: result, InactiveExitTimestampMonotonic: tried() };
              return { status: 0, stdout: unit(starts > 1 ? {} : failed), stderr: '' };
            }
            return argv[0] === 'journalctl' ? { status: 0, stdout: '', stderr: '' } : runner.run(argv, options);
          },
        },
      });
      const failure = await services.restart('x').then(() => undefined, messageOf);
      return { failure, starts, asked };
    };
    for (const result of ['start-limit-hit', 'exit-code']) {
      const earlier = microseconds();
      assert.deepEqual(await restarted(result, () => earlier), { failure: undefined, starts: 2, asked: [reset] });
    }
    const { failure, starts } = await restarted('exit-code', microseconds);
    assert.match(failure ?? '', /^x did not start: /);
    assert.equal(starts, 1);
  });

  test('a service that somebody else restarts at the same time is waited for', async () => {
    const states = [
      { ActiveState: 'deactivating', SubState: 'stop-sigterm', Job: '7' },
      { ActiveState: 'inactive', SubState: 'dead', Job: '7' },
      { ActiveState: 'activating', SubState: 'start', Job: '7' },
      {},
    ];
    // The other restart may come after ours has ended, or replace it.
    for (const status of [0, 1]) {
      let looks = 0;
      const { runner } = recordedRunner({
        'systemctl --no-ask-password --quiet restart x.service': { status },
      });
      const services = new LinuxServices({
        root: '/',
        runner: {
          ...runner,
          run: async (argv, options) =>
            argv[1] === 'show'
              ? { status: 0, stdout: unit(states[looks++] ?? {}), stderr: '' }
              : await runner.run(argv, options),
        },
      });
      await services.restart('x');
      assert.equal(looks, states.length);
    }
  });

  test('a service that fails right after its start did not start', async () => {
    let looks = 0;
    const { runner } = recordedRunner({
      'systemctl --no-ask-password --quiet restart x.service': {},
      'systemctl --quiet stop x.service': {},
      'journalctl --sync': {},
    });
    const services = new LinuxServices({
      root: '/',
      runner: {
        ...runner,
        async run(argv, options) {
          if (argv[1] === 'show') {
            looks += 1;
            const fallen = {
              ActiveState: 'activating',
              SubState: 'auto-restart',
              Result: 'exit-code',
              ExecMainStatus: '3',
              NRestarts: '1',
            };
            return { status: 0, stdout: unit({ Type: 'simple', ...(looks > 1 ? fallen : {}) }), stderr: '' };
          }
          if (argv[0] === 'journalctl' && argv[1] !== '--sync') return { status: 0, stdout: '', stderr: '' };
          return runner.run(argv, options);
        },
      },
    });
    await assert.rejects(
      services.restart('x'),
      (error) => error instanceof HostError && error.message === 'x did not start: it ended with the status 3',
    );
  });

  test('the lines of a program that failed at once are found by its process', () => {
    const started = [
      '{ path=/bin/mkdir ; argv[]=/bin/mkdir -p /srv/a ; ignore_errors=no ; start_time=[n/a] ; stop_time=[n/a] ; pid=0 ; code=(null) ; status=0/0 }',
      '{ path=/usr/sbin/in.tftpd ; argv[]=/usr/sbin/in.tftpd pid=7 ; ignore_errors=no ; start_time=[Sun 2026-11-29 01:40:02 UTC] ; stop_time=[Sun 2026-11-29 01:40:02 UTC] ; pid=4711 ; code=exited ; status=66 }',
    ].join('\n\n');
    assert.deepEqual(readStarted(started), [4711]);
    assert.deepEqual(journalMatches('x.service', [4711]).slice(-2), ['+', '_PID=4711']);
  });

  test('the program’s own last lines are reported, not the service manager’s', () => {
    assert.deepEqual(readLastWords(recording('journal.json')), [
      'Checking syntax of configuration file',
      "2026-11-21 06:14:05,226 nas0 proftpd[338]: fatal: unknown configuration directive 'Nonsense' on line 211 of '/etc/proftpd/proftpd.conf'",
      '2026-11-21 06:14:05,228 nas0 proftpd[338]: fatal: Did you mean: BanOnEvent',
    ]);
    const silent = recording('journal.json')
      .split('\n')
      .filter((line) => line.includes('"_PID":"1"'))
      .join('\n');
    assert.match(readLastWords(silent).join(' '), /Failed with result 'exit-code'/);
    assert.deepEqual(readLastWords('{"MESSAGE":[104,105],"_PID":"7"}\n'), ['hi']);
  });

  test('properties are split at the first equals sign', () => {
    assert.deepEqual(readUnits('A=1=2\nB=\n\nA=3\n'), [{ A: '1=2', B: '' }, { A: '3' }]);
  });
});
