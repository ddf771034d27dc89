import type { Alert } from './alert.ts';

/** Encodes the few types of BER that a trap has (X.690, RFC 3416). */
const tags = { integer: 0x02, text: 0x04, oid: 0x06, sequence: 0x30, ticks: 0x43, trap: 0xa7 } as const;

export function encoded(tag: number, content: Buffer): Buffer {
  const { length } = content;
  if (length < 128) return Buffer.concat([Buffer.from([tag, length]), content]);
  const octets = unsigned(length);
  return Buffer.concat([Buffer.from([tag, 0x80 | octets.length]), octets, content]);
}

/** The octets of a number, the highest first. */
function unsigned(value: number): Buffer {
  const octets: number[] = [];
  for (let rest = value; rest > 0 || octets.length === 0; rest = Math.floor(rest / 256)) octets.unshift(rest % 256);
  return Buffer.from(octets);
}

/** A number that is not negative. A first octet from 128 on would make it negative. */
export function integer(value: number, tag: number = tags.integer): Buffer {
  const octets = unsigned(value);
  return encoded(tag, (octets[0] ?? 0) < 128 ? octets : Buffer.concat([Buffer.from([0]), octets]));
}

const text = (value: string) => encoded(tags.text, Buffer.from(value));

export function oid(name: string): Buffer {
  const [first = 0, second = 0, ...rest] = name.split('.').map(Number);
  const octets = rest.flatMap((part) => {
    const groups = [part % 128];
    for (let left = Math.floor(part / 128); left > 0; left = Math.floor(left / 128))
      groups.unshift((left % 128) | 0x80);
    return groups;
  });
  return encoded(tags.oid, Buffer.from([first * 40 + second, ...octets]));
}

const sequence = (parts: readonly Buffer[], tag: number = tags.sequence) => encoded(tag, Buffer.concat(parts));

/** The tree of the agent (subsystems/snmp) has its values in `.1`; here are what happens in `.2.1` and its objects in `.2.2`. */
const tree = '1.3.6.1.4.1.50536.2';
const began = `${tree}.1.1`;
const ended = `${tree}.1.2`;
const objects = ['id', 'severity', 'message', 'kind', 'about', 'state'] as const;

const upTime = '1.3.6.1.2.1.1.3.0';
const trapName = '1.3.6.1.6.3.1.1.4.1.0';

/** The longest message, so that a trap fits into one datagram. */
const longest = 900;

/** A trap of SNMP v2c about one alert. `upSeconds` is how long the sender runs. */
export function trapOf(
  alert: Alert,
  { community, number, upSeconds }: { readonly community: string; readonly number: number; readonly upSeconds: number },
): Buffer {
  const name = alert.state === 'ended' ? ended : began;
  const bindings = [
    sequence([oid(upTime), integer(Math.floor(upSeconds * 100) % 2 ** 32, tags.ticks)]),
    sequence([oid(trapName), oid(name)]),
    ...objects.map((object, index) => sequence([oid(`${tree}.2.${index + 1}`), text(alert[object].slice(0, longest))])),
  ];
  const version2c = integer(1);
  return sequence([
    version2c,
    text(community),
    sequence([integer(number), integer(0), integer(0), sequence(bindings)], tags.trap),
  ]);
}
