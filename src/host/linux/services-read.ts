/** Pure readers of the output of systemd's tools. */
import { isObject } from '../../lib/json.ts';
import { forgetOldest } from '../../lib/recent.ts';

/** One unit's properties. */
export type UnitProperties = Readonly<Record<string, string>>;

/**
 * The properties of several units from `systemctl show`, which prints a block for each in the order of the arguments.
 */
export function readUnits(text: string): readonly UnitProperties[] {
  return text
    .trim()
    .split(/\n\n+/)
    .map((block) => Object.freeze(Object.fromEntries(block.split('\n').map((line) => splitAt(line, '=')))));
}

/** The answer of the service manager's `ListUnitsByNames`, as busctl prints it: the units in the order of the names. */
export function readUnitStates(text: string): readonly UnitProperties[] {
  const answer: unknown = JSON.parse(text);
  const units: unknown = isObject(answer) && Array.isArray(answer['data']) ? answer['data'][0] : undefined;
  if (!Array.isArray(units)) throw new Error(`busctl printed no units: ${text.slice(0, 200)}`);
  return units.filter(Array.isArray).map((unit: readonly unknown[]) =>
    Object.freeze({
      LoadState: String(unit[2]),
      ActiveState: String(unit[3]),
      SubState: String(unit[4]),
      Job: String(unit[7]),
    }),
  );
}

/** Units whose state in the last signal is kept: more than a machine has services, and few enough for years of sessions. */
const mostUnits = 5000;

/**
 * Reads the lines of `busctl monitor`: signals of the service manager about units. Returns the service that a signal
 * reports a new state of.
 *
 * Signals that repeat a state are left out. The service manager also sends them when it loads or unloads other units that
 * are ordered before or after this one. That happens whenever Holdfast asks for the states of its services, most of which
 * do not run and are not loaded: a look after each signal would cause the next signal, for ever. A service that reloads
 * goes on running, so its state stays the same too.
 */
export function unitEventReader(): (line: string) => string | undefined {
  const states = new Map<string, string>();
  return (line) => {
    const event = readUnitEvent(line);
    if (event === undefined || states.get(event.unit) === event.state) return undefined;
    // Deleted first, so that the unit becomes the newest.
    states.delete(event.unit);
    states.set(event.unit, event.state);
    forgetOldest(states, mostUnits);
    return event.unit;
  };
}

/** A unit, and its state as text for comparison. */
function readUnitEvent(line: string): { readonly unit: string; readonly state: string } | undefined {
  if (!line.includes('"ActiveState"')) return undefined;
  let signal: unknown;
  try {
    signal = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!isObject(signal)) return undefined;
  const { path, payload } = signal;
  const unit = typeof path === 'string' ? /^\/org\/freedesktop\/systemd1\/unit\/(\w+)$/.exec(path)?.[1] : undefined;
  // D-Bus paths have letters and digits; all other characters of the name are their codes after an underscore.
  const name = unit?.replaceAll(/_([0-9a-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  if (name === undefined) return undefined;
  const data = isObject(payload) && Array.isArray(payload['data']) ? payload['data'] : [];
  const { ActiveState, SubState, Job } = data.find(isObject) ?? {};
  const isUp = isObject(ActiveState) && isRunning(ActiveState['data']);
  const state = isUp ? 'running' : JSON.stringify([ActiveState, SubState, Job]);
  return { unit: name.replace(/\.service$/, ''), state };
}

/** Whether a service in this `ActiveState` runs. */
export function isRunning(state: unknown): boolean {
  return state === 'active' || state === 'reloading';
}

function splitAt(line: string, separator: string): [string, string] {
  const at = line.indexOf(separator);
  return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)];
}

/** The processes that systemd has started of a unit, from its properties `ExecStart` and the like. */
export function readStarted(properties: string): readonly number[] {
  return [...properties.matchAll(/ ; pid=([1-9]\d*) ; code=/g)].map(([, pid]) => Number(pid));
}

/**
 * Selects the lines of a unit in the journal, as `--unit` does, and those of the processes that were started of it:
 * journald finds the unit of a line by its process, and a program that fails at once has ended by then.
 */
export function journalMatches(unit: string, started: readonly number[]): readonly string[] {
  return [
    ...[`_SYSTEMD_UNIT=${unit}`, '+', `UNIT=${unit}`, '_PID=1', '+', `COREDUMP_UNIT=${unit}`, '_UID=0'],
    ...started.flatMap((pid) => ['+', `_PID=${pid}`]),
  ];
}

/**
 * A program's last log lines, from `journalctl --output=json`. The service manager's lines about the program are left
 * out unless there are no others.
 */
export function readLastWords(text: string): readonly string[] {
  const entries = text.split('\n').flatMap((line) => {
    if (line.trim() === '') return [];
    const entry: unknown = JSON.parse(line);
    if (!isObject(entry)) return [];
    const message = messageOf(entry['MESSAGE']).trim();
    return message === '' ? [] : [{ message, own: entry['_PID'] !== '1' }];
  });
  const own = entries.filter((entry) => entry.own);
  return (own.length > 0 ? own : entries).map((entry) => entry.message);
}

/** Journal fields that are not plain text come as lists of bytes. */
function messageOf(field: unknown): string {
  if (typeof field === 'string') return field;
  return Array.isArray(field) && field.every((byte) => typeof byte === 'number') ? Buffer.from(field).toString() : '';
}

// Ports ---------------------------------------------------------------------------------------------------------------

/** A socket on which something listens or receives datagrams. */
export interface ListeningSocket {
  readonly protocol: 'TCP' | 'UDP';
  /** Undefined for all addresses. */
  readonly address: string | undefined;
  readonly port: number;
  /** Undefined for the kernel, as for NFS. */
  readonly program: string | undefined;
  readonly pid: number | undefined;
}

const socketLine = /^(tcp|udp)\s+\S+\s+\d+\s+\d+\s+(\S+):(\d+)\s+\S+(?:\s+users:\(\("(.*?)",pid=(\d+),)?/;

/**
 * Reads the lines of `ss --listening --numeric --tcp --udp --processes`, such as
 * `tcp LISTEN 0 128 127.0.0.1%lo:22 0.0.0.0:* users:(("sshd",pid=71,fd=3))`. Of several processes that share a socket,
 * the first one is named: they belong to one service.
 */
export function readListeners(text: string): readonly ListeningSocket[] {
  return text.split('\n').flatMap((line) => {
    const [, kind, local = '', port, program, pid] = socketLine.exec(line) ?? [];
    if (kind === undefined) return [];
    const address = local.replace(/%.*$/, '').replace(/^\[(.*)\]$/, '$1');
    return Object.freeze({
      protocol: kind === 'tcp' ? ('TCP' as const) : ('UDP' as const),
      address: address === '*' || address === '0.0.0.0' || address === '::' ? undefined : address,
      port: Number(port),
      program,
      pid: pid === undefined ? undefined : Number(pid),
    });
  });
}

/** The service of a process, from /proc/PID/cgroup: `0::/system.slice/smbd.service` is of `smbd`. */
export function readUnitOf(cgroup: string): string | undefined {
  return /^0::.*\/([^/\n]+)\.service(?:\/|$)/m.exec(cgroup)?.[1];
}
