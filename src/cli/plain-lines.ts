import { isObject } from '../lib/json.ts';

/** What the log writes its lines to. */
interface Destination {
  write(line: string): unknown;
}

const levels: Readonly<Record<number, string>> = { 20: 'debug: ', 40: 'warning: ', 50: 'error: ', 60: 'error: ' };

/** Writes each line of JSON as a sentence with its details: `warning: pool tank: degraded (device=ada1)`. */
export function plainLines(destination: Destination): Destination {
  return {
    write(line) {
      destination.write(plainLine(line));
    },
  };
}

export function plainLine(line: string): string {
  const entry: unknown = JSON.parse(line);
  if (!isObject(entry)) return line;
  const { level, time: _, msg, err, ...fields } = entry;
  const failure = isObject(err) ? { error: err['message'] } : {};
  const details = Object.entries({ ...fields, ...failure }).map(
    ([name, value]) => `${name}=${typeof value === 'string' && !/\s/.test(value) ? value : JSON.stringify(value)}`,
  );
  return `${levels[Number(level)] ?? ''}${String(msg)}${details.length === 0 ? '' : ` (${details.join(', ')})`}\n`;
}
