/** Pure readers of the output of systemd's tools. */
import { isObject } from '../../lib/json.ts';

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
  return units
    .filter(Array.isArray)
    .map((unit: readonly unknown[]) => Object.freeze({ LoadState: String(unit[2]), ActiveState: String(unit[3]) }));
}

function splitAt(line: string, separator: string): [string, string] {
  const at = line.indexOf(separator);
  return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)];
}

/**
 * A program's last log lines, from `journalctl --output=json`. The service manager's lines about the program are left
 * out
 * unless there are no others.
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
