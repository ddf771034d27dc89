import type { startScript } from '../../areas/tasks/initshutdown.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { unitWord } from '../../lib/systemd.ts';
import { lines } from '../../lib/text.ts';

type Script = RecordOf<typeof startScript.fields>;
export type Moment = Script['ini_when'];

/** Seconds that one script may take. Then it is killed, and the next one starts. */
export const timeLimit: Readonly<Record<Moment, number>> = { preinit: 120, postinit: 600, shutdown: 120 };

export const unitName = (moment: Moment): string => `holdfast-${moment}`;

/**
 * Scripts need the mounted pools: a script may be a file on a volume, and may use its data. zfs.target would make a
 * cycle, because it comes after the NFS server.
 */
const mounts = 'local-fs.target zfs-mount.service';

/** Runs before the services except SSH, so that an administrator can log in while a script hangs. */
export function preinitUnit(scripts: readonly Script[], services: readonly string[]): string {
  return lines(
    '# Written by Holdfast.',
    '[Unit]',
    'Description=Scripts of Holdfast before the services start',
    `After=${mounts} network.target`,
    `Before=holdfast.service ${services.map((name) => `${name}.service`).join(' ')}`,
    '',
    '[Service]',
    'Type=oneshot',
    'RemainAfterExit=yes',
    'TimeoutStartSec=infinity',
    scripts.length === 0 ? 'ExecStart=/bin/true' : scripts.map((script) => `ExecStart=${commandOf(script)}`),
  );
}

/** Runs when all services that start at boot have started. */
export function postinitUnit(scripts: readonly Script[]): string {
  return lines(
    '# Written by Holdfast.',
    '[Unit]',
    'Description=Scripts of Holdfast after the start',
    'After=multi-user.target',
    '',
    '[Service]',
    'Type=oneshot',
    'RemainAfterExit=yes',
    'TimeoutStartSec=infinity',
    scripts.length === 0 ? 'ExecStart=/bin/true' : scripts.map((script) => `ExecStart=${commandOf(script)}`),
  );
}

/**
 * Does nothing until it is stopped. systemd stops it before the services that it starts after, so the scripts run while
 * these still run. holdfast.service is not among them: Holdfast starts this unit during its own start and would wait
 * for itself.
 */
export function shutdownUnit(scripts: readonly Script[], services: readonly string[]): string {
  return lines(
    '# Written by Holdfast.',
    '[Unit]',
    'Description=Scripts of Holdfast when the machine ends',
    `After=${mounts} network.target ${services.map((name) => `${name}.service`).join(' ')}`,
    '',
    '[Service]',
    'Type=oneshot',
    'RemainAfterExit=yes',
    'ExecStart=/bin/true',
    scripts.map((script) => `ExecStop=${commandOf(script)}`),
    // The time limit of one script, and time to kill what it leaves behind.
    `TimeoutStopSec=${timeLimit.shutdown + 30}`,
    '',
    '[Install]',
    'WantedBy=multi-user.target',
  );
}

/** Pulls the units in at boot. `systemctl enable --now` would also run the scripts now. */
export const startDropIn: string = lines(
  '# Written by Holdfast.',
  '[Unit]',
  `Wants=${unitName('preinit')}.service ${unitName('postinit')}.service`,
);

/** Refuses a script that another account than root can replace. That may have changed since the script was saved. */
const guard = '/usr/lib/holdfast/run-script';

/**
 * With the dash, systemd ignores a failure, so that the next script runs and the machine boots. The output is in the
 * journal under an identifier of the script: `journalctl -t holdfast-preinit-3`.
 */
function commandOf({ id, ini_when: moment, ini_type, ini_command, ini_script }: Script): string {
  const program =
    ini_type === 'command' ? ['/bin/sh', '-c', unitWord(ini_command)] : [guard, unitWord(ini_script ?? '')];
  return [
    '-/usr/bin/systemd-cat',
    `--identifier=${unitName(moment)}-${id}`,
    '/usr/bin/timeout',
    '--kill-after=10',
    String(timeLimit[moment]),
    ...program,
  ].join(' ');
}
