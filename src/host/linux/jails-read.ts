import { jailService } from '../ports/jails.ts';
import { readMounts } from './mounts.ts';

/** The jails whose units systemd lists, from `systemctl list-units --plain --no-legend`. */
export function readRunning(listed: string): readonly string[] {
  const [before = '', after = ''] = jailService('*').split('*');
  return listed.split('\n').flatMap((line) => {
    const unit = line.trim().split(/\s+/)[0] ?? '';
    return unit.startsWith(before) && unit.endsWith(`${after}.service`)
      ? [unit.slice(before.length, -`${after}.service`.length)]
      : [];
  });
}

/** The pid of each machine's first process, from `machinectl show`, which separates machines by an empty line. */
export function readLeaders(shown: string): ReadonlyMap<string, number> {
  const leaders = shown
    .split('\n\n')
    .map((part) => [/^Name=(.+)$/m.exec(part)?.[1], Number(/^Leader=(\d+)$/m.exec(part)?.[1] ?? 0)] as const);
  return new Map(
    leaders.flatMap(([name, leader]) => (name === undefined || leader === 0 ? [] : [[name, leader] as const])),
  );
}

/** Mounts that every container has. */
const ordinary = /^\/(proc|sys|dev|run)(\/|$)/;

/** The mount points from `/proc/<pid>/mountinfo`. */
export function readMountPoints(mountinfo: string): readonly string[] {
  const mountpoints = readMounts(mountinfo).map(({ on }) => on);
  return [...new Set(mountpoints.filter((mountpoint) => mountpoint !== '/' && !ordinary.test(mountpoint)))];
}
