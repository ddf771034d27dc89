import type { ZfsEvent, ZfsSubject } from '../../ports/zfs.ts';

/** The program that prints every event of every pool, past events first. */
export const zfsEvents = ['zpool', 'events', '-f', '-H', '-v'] as const;

/** The lines that the reader needs: an event of an error has forty. */
export const zfsEventLines = /^\s*$|^\s+(?:class|pool|history_dsname|history_internal_name|time) = /;

/** Changes of a dataset that may add, remove or replace what is below it. */
const deep = new Set(['destroy', 'receive', 'finish receiving', 'rollback']);

/** Changes of a dataset that its descendants inherit. A creation with properties is followed by one. */
const inherited = new Set(['set', 'inherit']);

/** Changes of one snapshot that change no other snapshot, except how much of the space is that of its neighbors alone. */
const ofOneSnapshot = new Set(['snapshot', 'destroy', 'set', 'inherit']);

/** Changes that move a dataset within its pool; the event names only one of the two names. */
const moving = new Set(['rename', 'promote']);

/** Events that add or remove a pool. */
const ofPoolList = /\.pool_(create|destroy|import|export|reguid)$/;

/**
 * Reads `zpool events -v`, of which each event is a head line, indented lines `name = value`, and an empty line:
 *
 *     Nov 22 2026 07:46:00.123456789	sysevent.fs.zfs.history_event
 *             class = "sysevent.fs.zfs.history_event"
 *             pool = "tank"
 *             history_dsname = "tank/media@monday"
 *             history_internal_name = "snapshot"
 *             time = 0x65600000 0x75bcd15
 *
 * Returns the event that a line completes, if any. Seconds and nanoseconds of `time` are hexadecimal, and a space follows
 * each of them, also the last one.
 */
export function zfsEventReader(): (line: string) => ZfsEvent | undefined {
  let values = new Map<string, string>();
  return (line) => {
    const [, name, value] = /^\s+(\w+) = (.*)$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) {
      values.set(name, value.replace(/^"(.*)"$/, '$1'));
      return undefined;
    }
    if (line.trim() !== '' || values.size === 0) return undefined;
    const event = { subject: subjectOf(values), at: timeOf(values.get('time') ?? '') };
    values = new Map();
    return event;
  };
}

function subjectOf(values: ReadonlyMap<string, string>): ZfsSubject | 'everything' {
  const pool = values.get('pool');
  const eventClass = values.get('class') ?? '';
  if (pool === undefined || ofPoolList.test(eventClass)) return 'everything';
  const [, dataset = '', kind, name = ''] = /^([^@#]*)([@#]?)(.*)$/.exec(values.get('history_dsname') ?? '') ?? [];
  if (dataset === '') return { pool };
  const what = values.get('history_internal_name') ?? '';
  if (moving.has(what)) return { dataset: pool, below: true };
  if (kind === '@' && ofOneSnapshot.has(what)) return { dataset, snapshot: name };
  if (deep.has(what)) return { dataset, below: true };
  return inherited.has(what) && kind === '' ? { dataset, below: 'known' } : { dataset };
}

/** An event without a time counts as one that happens now. */
function timeOf(text: string): number {
  const [, seconds, nanoseconds] = /^0x([0-9a-f]+) 0x([0-9a-f]+) ?$/.exec(text) ?? [];
  if (seconds === undefined || nanoseconds === undefined) return Number.MAX_SAFE_INTEGER;
  return Number.parseInt(seconds, 16) * 1000 + Number.parseInt(nanoseconds, 16) / 1e6;
}
