/**
 * What `GET doctor` examines. A check has the problems of its kinds, and what it finds itself, because that is too slow
 * or too rare to be looked for all the time.
 */
import { backupsFolder, revisionOfBackup } from '../../engine/configuration/backup-names.ts';
import { volumesFolder } from '../../engine/declare/formats.ts';
import type { OperationCall } from '../../engine/declare/operation.ts';
import type { CurrentProblem, Problem } from '../../engine/declare/problem.ts';
import { refusedFiles } from '../../engine/plan/verify.ts';
import type { SubsystemReport } from '../../engine/upkeep/reconciler.ts';
import type { Commands } from '../../host/ports/commands.ts';
import type { PortHolder } from '../../host/ports/services.ts';
import { messageOf } from '../../lib/text.ts';
import { services } from '../services/index.ts';
import { isOn } from '../services/services.ts';
import { endpointsOf } from '../system/settings.ts';

/** What is wrong, and what mends it: a request, or otherwise a command for the shell of the appliance. */
export interface Finding extends Pick<Problem, 'severity' | 'about' | 'message' | 'remedy'> {
  readonly command?: string;
}

export interface Call extends Pick<OperationCall, 'engine' | 'operations' | 'subsystems'> {
  /** The machine, compared with the configuration. */
  readonly reports: readonly SubsystemReport[];
  readonly problems: readonly CurrentProblem[];
}

export interface Check {
  readonly name: string;
  /** What has to be so, as a sentence. */
  readonly title: string;
  /** Kinds of problems, the command that mends each where no request does; the last word of `about` is its name. */
  readonly kinds?: Readonly<Record<string, ((name: string, problem: CurrentProblem) => string) | undefined>>;
  /** What it finds beside the problems. */
  look?(call: Call): Promise<readonly Finding[]>;
}

const replaceDisk = (pool: string) =>
  `holdfast status pool ${pool}; holdfast replace pool ${pool} --label DISK --replace-disk NEW`;
const importCertificate = () => 'holdfast import certificate NAME --certificate @FILE --privatekey @FILE';
const freeSpace = (_name: string, { about }: CurrentProblem) =>
  about.startsWith('/') ? `du -xh --max-depth=2 ${about} | sort -h | tail` : 'holdfast list dataset --sort -used';

/** In the order in which they are shown. */
export const checks: readonly Check[] = [
  {
    name: 'helper',
    title: 'The daemon can start programs.',
    look: ({ operations }) => operations.ask('start a program', ({ commands }) => helperFindings(commands)),
  },
  {
    name: 'system',
    title: 'Debian and OpenZFS have versions that Holdfast supports.',
    look: systemFindings,
  },
  {
    name: 'host id',
    title: 'The machine has a host id of its own, by which pools know their machine.',
    look: hostIdFindings,
  },
  {
    name: 'clock',
    title: 'The clock is right.',
    kinds: { clock: () => 'chronyc makestep; holdfast list ntp' },
  },
  {
    name: 'space',
    title: 'There is space for the configuration, the system and the data.',
    kinds: { space: freeSpace, capacity: freeSpace, threshold: freeSpace, 'read-only': () => 'dmesg --level=err,warn' },
  },
  {
    name: 'pools',
    title: 'Pools are imported, unlocked and have all their disks, and the disks are healthy.',
    kinds: {
      pool: replaceDisk,
      errors: replaceDisk,
      spare: replaceDisk,
      smart: (disk) => `holdfast show disk ${disk}; holdfast replace pool NAME --label DISK --replace-disk NEW`,
      'smartd health': () => 'holdfast list disk',
      'event daemon': () => 'systemctl start zfs-zed',
      locked: undefined,
      absent: (name, { about }) =>
        about.startsWith('/')
          ? `holdfast problems -o yaml; mkdir ${about}`
          : `holdfast list pool/importable; holdfast import pool/importable ${name}`,
      received: () => 'zfs mount -a',
    },
  },
  {
    name: 'files',
    title: 'The programs accept the files that they read.',
    look: fileFindings,
  },
  {
    name: 'drift',
    title: 'The machine is what the configuration describes.',
    kinds: { subsystem: (name) => `holdfast heal subsystem ${name}; journalctl -u holdfast`, unmanaged: undefined },
    look: driftFindings,
  },
  {
    name: 'ports',
    title: 'The interface and the services listen on the ports of their settings.',
    look: portFindings,
  },
  {
    name: 'certificates',
    title: 'Certificates are valid, for at least 30 days, and strong enough for current programs.',
    kinds: {
      expired: renewCertificate,
      expires: renewCertificate,
      weak: importCertificate,
      'not issued': undefined,
    },
  },
  {
    name: 'backups',
    title: 'Each pool has a backup of the configuration as it is.',
    look: backupFindings,
  },
  {
    name: 'others',
    title: 'Services, shares and tasks do their work, and there are no other problems.',
    kinds: {
      ended: undefined,
      update: undefined,
      job: () => 'holdfast jobs',
      stalled: (_name, { detail = 'ID' }) => `holdfast abort job ${detail}`,
      stalls: () => 'holdfast show daemon',
      login: () => 'holdfast list audit-entry',
    },
  },
];

/** A difference is found by looking at the machine now; the problem of it is from the last inspection. */
const foundByLooking: ReadonlySet<string> = new Set(['drift']);

/** The findings of a check. One that cannot be carried out is a finding. */
export async function findingsOf(check: Check, call: Call): Promise<readonly Finding[]> {
  const known = checks.flatMap(({ kinds = {} }) => Object.keys(kinds));
  const isOwn = ({ kind }: Problem) =>
    Object.hasOwn(check.kinds ?? {}, kind) ||
    (check.name === 'others' && !known.includes(kind) && !foundByLooking.has(kind));
  const problems = call.problems.filter(isOwn).map((problem): Finding => {
    const { severity, about, message, remedy, kind } = problem;
    const command = check.kinds?.[kind]?.(about.slice(about.lastIndexOf('/') + 1), problem);
    if (remedy !== undefined) return { severity, about, message, remedy };
    return { severity, about, message, ...(command === undefined ? {} : { command }) };
  });
  try {
    return [...problems, ...((await check.look?.(call)) ?? [])];
  } catch (error) {
    const message = `The check could not be carried out: ${messageOf(error)}`;
    return [...problems, { severity: 'critical', about: 'daemon', message, command: 'journalctl -u holdfast' }];
  }
}

function renewCertificate(_name: string, { about }: CurrentProblem): string {
  return about.startsWith('holdfast/') ? 'holdfast renew https' : importCertificate();
}

/** The daemon starts every program by its helper process. */
export async function helperFindings(commands: Pick<Commands, 'check'>): Promise<readonly Finding[]> {
  try {
    await commands.check(['true']);
    return [];
  } catch (error) {
    const message = `The daemon cannot start programs: ${messageOf(error)}`;
    return [{ severity: 'critical', about: 'daemon', message, command: 'systemctl restart holdfast' }];
  }
}

const supported = { debian: 13, zfs: [2, 3] } as const;

async function systemFindings({ operations }: Call): Promise<readonly Finding[]> {
  const [release, module] = await operations.ask('read the versions', ({ files }) =>
    Promise.all([files.read('/etc/os-release'), files.read('/sys/module/zfs/version')]),
  );
  const found: Finding[] = [];
  const [, debian] = /^VERSION_ID="?(\d+)/m.exec(release ?? '') ?? [];
  if (debian !== undefined && Number(debian) !== supported.debian)
    found.push({
      severity: 'warning',
      about: '/etc/os-release',
      message: `Expected Debian ${supported.debian}, got ${debian}: Holdfast is not tested with its programs.`,
      command: 'apt-cache policy holdfast',
    });
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(module ?? '') ?? [];
  const [least, lesser] = supported.zfs;
  if (major !== undefined && (Number(major) < least || (Number(major) === least && Number(minor) < lesser)))
    found.push({
      severity: 'critical',
      about: '/sys/module/zfs/version',
      message: `Expected OpenZFS ${supported.zfs.join('.')} or later in the kernel, got ${(module ?? '').trim()}.`,
      command: 'apt-get install zfs-dkms zfsutils-linux; holdfast start reboot --yes=reboot',
    });
  return found;
}

async function hostIdFindings({ operations }: Call): Promise<readonly Finding[]> {
  const id = await operations.ask('read the host id', ({ files }) =>
    files.read('/etc/hostid', { encoding: 'base64' }).then((text) => Buffer.from(text ?? '', 'base64')),
  );
  if (id.length === 4 && id.some((byte) => byte !== 0)) return [];
  const message =
    id.length === 0
      ? '/etc/hostid is missing: pools do not know the machine that uses them, and a second one could import them too.'
      : `Expected 4 bytes in /etc/hostid that are not all zero, got ${id.length} bytes: ZFS ignores the file.`;
  return [{ severity: 'warning', about: '/etc/hostid', message, command: 'zgenhostid -f' }];
}

/** Each file as it is on the machine, by the checker of the program that reads it. */
async function fileFindings({ engine, operations, subsystems, reports }: Call): Promise<readonly Finding[]> {
  const { view, facts } = engine.world;
  const found: Finding[] = [];
  for (const subsystem of subsystems) {
    const { name } = subsystem;
    const report = reports.find((one) => one.subsystem === name);
    if (report?.managed !== true) continue;
    const desired = subsystem.render(view, facts);
    const refused = await operations.ask(`check the files of ${name}`, (host) => refusedFiles(host, desired));
    for (const { path, objection, argv } of refused)
      found.push({
        severity: 'critical',
        about: path,
        message: `The program that reads ${path} refuses it${objection === undefined ? `. To see why: ${argv.join(' ')}` : `: ${objection}`}`,
        // Where the file is the rendered one, a setting is what the program refuses.
        ...(report.drift.length > 0
          ? { remedy: healing(name) }
          : { command: 'holdfast revisions; holdfast revert NUMBER' }),
      });
  }
  return found;
}

const healing = (subsystem: string) => ({ method: 'POST', path: `/api/holdfast/v1/drift/${subsystem}/heal` }) as const;

async function driftFindings({ reports }: Call): Promise<readonly Finding[]> {
  return reports
    .filter(({ drift, policy, degraded }) => drift.length > 0 && policy !== 'ignore' && degraded === null)
    .map(({ subsystem, drift }) => ({
      severity: 'warning',
      about: `subsystem/${subsystem}`,
      message: `The subsystem ${subsystem} was changed outside of Holdfast. Healing would: ${drift.slice(0, 5).join(', ')}.`,
      remedy: healing(subsystem),
    }));
}

async function portFindings(call: Call): Promise<readonly Finding[]> {
  return [...(await ownPortFindings(call)), ...(await servicePortFindings(call))];
}

async function ownPortFindings({ engine, operations }: Call): Promise<readonly Finding[]> {
  const { view } = engine.world;
  const served = await operations.ask('look at the ports', ({ web }) => web.served());
  return endpointsOf(view)
    .filter(({ address, port }) => !served.some((one) => one.address === address && one.port === port))
    .map(({ address, port }) => ({
      severity: 'critical',
      about: 'system/settings',
      message: `The interface does not listen on port ${port} of ${address}, as its settings say. Another program may have the port.`,
      command: `ss -ltnp 'sport = :${port}'; holdfast heal subsystem web`,
    }));
}

/** Who listens on the ports of each service that is on. */
async function servicePortFindings({ engine, operations }: Call): Promise<readonly Finding[]> {
  const { view, facts } = engine.world;
  const asked = services
    .filter((service) => isOn(view, service) && service.hasWork(view, facts))
    .flatMap((service) => {
      const units = [...service.units(facts.services, view), ...service.helpers];
      return service.listens(view).map(({ protocol, port, address }) => ({ service, protocol, port, address, units }));
    });
  const found = await operations.ask('look at the ports of the services', (host) => host.services.listeners(asked));
  return asked.flatMap(({ service, protocol, port, units }, index): readonly Finding[] => {
    const holders = found[index] ?? [];
    if (holders.some((holder) => isOfService(holder, units))) return [];
    const about = `services/services/${service.name}`;
    const subject = `${protocol} port ${port} of the service ${service.name}`;
    const own = service.units(facts.services, view);
    const again = own.map((unit) => `; systemctl restart ${unit}`).join('');
    const [other] = holders;
    if (other !== undefined) {
      const { program, pid, unit } = other;
      const of = unit === undefined ? '' : `, unit ${unit}`;
      const end = unit === undefined ? `kill ${pid}` : `systemctl disable --now ${unit}`;
      return [
        {
          ...{ severity: 'critical', about, command: `${end}${again}` },
          message: `Another program has the ${subject}: ${program} (process ${pid}${of}). End it, or set another port.`,
        },
      ];
    }
    // A service that does not run is a problem of its own. A datagram port may be open only when it is needed.
    if (protocol === 'UDP' || service.look(facts, view).isRunning !== true) return [];
    const [unit] = own;
    const command = unit === undefined ? 'journalctl -k -n 50' : `journalctl -u ${unit} -n 20${again}`;
    const message = `The service runs, but nothing listens on the ${subject}.`;
    return [{ severity: 'critical', about, message, command }];
  });
}

/** Whether the service has the port itself: by its programs, by the kernel, or by a socket of systemd, process 1. */
function isOfService({ program, pid, unit }: PortHolder, units: readonly string[]): boolean {
  return program === undefined || pid === 1 || (unit !== undefined && units.includes(unit));
}

/** Milliseconds after a change until its backup is overdue. */
const overdue = 120_000;

async function backupFindings({ engine, operations }: Call): Promise<readonly Finding[]> {
  const { pools, datasets } = engine.world.facts.storage;
  const [revision] = engine.revisions(1);
  if (revision === undefined || operations.now() - Date.parse(revision.at) < overdue) return [];
  const found: Finding[] = [];
  for (const pool of pools.keys()) {
    const root = datasets.get(pool);
    if (root?.mountpoint !== `${volumesFolder}/${pool}` || root.key === 'unavailable') continue;
    const prefix = `${root.mountpoint}/${backupsFolder}/configuration-`;
    const paths = await operations.ask('look for backups', ({ files }) => files.beginning(prefix));
    const newest = Math.max(0, ...paths.map((path) => revisionOfBackup(path) ?? 0));
    if (newest >= revision.number) continue;
    const has = newest === 0 ? 'no backup of the configuration' : `a backup of revision ${newest} as the newest`;
    found.push({
      severity: 'warning',
      about: `storage/volume/${pool}`,
      message: `The pool ${pool} has ${has}; the configuration has revision ${revision.number}. The log shows why none was written.`,
      command: `journalctl -u holdfast --grep 'backup on'; holdfast status pool ${pool}`,
    });
  }
  return found;
}
