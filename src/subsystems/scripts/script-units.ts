import type { startScript } from '../../areas/tasks/initshutdown.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { unitWord } from '../../lib/systemd.ts';
import { lines } from '../../lib/text.ts';

type Script = RecordOf<typeof startScript.fields>;
export type Moment = Script['ini_when'];

/** Seconds that one script may take. Whatever still runs then is ended, and the next one begins. */
export const timeLimit: Readonly<Record<Moment, number>> = { preinit: 120, postinit: 600, shutdown: 120 };

export const unitName = (moment: Moment): string => `holdfast-${moment}`;

/** The mounted pools, without which neither a script of a volume nor what it works on is there. zfs.target would be a circle: it comes after the NFS server. */
const mounts = 'local-fs.target zfs-mount.service';

/** Runs before the services, though not before SSH, by which somebody can look after a script that hangs. */
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

/** Runs when everything that starts with the machine has started. */
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
 * Does nothing until it is stopped, which is before anything that it started after. Holdfast itself is not among that:
 * it starts this unit while it starts, and would wait for itself.
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
    // For each script, and for what it leaves behind.
    `TimeoutStopSec=${timeLimit.shutdown + 30}`,
    '',
    '[Install]',
    'WantedBy=multi-user.target',
  );
}

/** Has the scripts of a start pulled in by it, without starting them now as enabling them by the service manager would. */
export const startDropIn: string = lines(
  '# Written by Holdfast.',
  '[Unit]',
  `Wants=${unitName('preinit')}.service ${unitName('postinit')}.service`,
);

/**
 * The dash lets the next one run, and the machine start, however this one ends. What it says is in the journal under
 * its own name: `journalctl -t holdfast-preinit-3`.
 */
function commandOf({ id, ini_when: moment, ini_type, ini_command, ini_script }: Script): string {
  const program = ini_type === 'command' ? ['/bin/sh', '-c', unitWord(ini_command)] : [unitWord(ini_script ?? '')];
  return [
    '-/usr/bin/systemd-cat',
    `--identifier=${unitName(moment)}-${id}`,
    '/usr/bin/timeout',
    '--kill-after=10',
    String(timeLimit[moment]),
    ...program,
  ].join(' ');
}
