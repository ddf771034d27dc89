import { isIPv6 } from 'node:net';
import { invalid } from '../../engine/declare/errors.ts';
import { advanced, flag, inputOnly, integer, required, text, titled } from '../../engine/declare/fields.ts';
import type { Problem } from '../../engine/declare/problem.ts';
import { collection } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';

/** Clock offset in seconds from which there is a problem. */
const maximumClockOffset = 5;

function clockProblems(offset: number | undefined): readonly Problem[] {
  if (offset === undefined || Math.abs(offset) < maximumClockOffset) return [];
  return [
    {
      kind: 'clock',
      about: 'system/ntpserver',
      severity: 'warning',
      message: `The clock differs from the time servers by ${Math.round(Math.abs(offset))} seconds. Directory services refuse a machine with a wrong clock.`,
    },
  ];
}

const server = (ntp_address: string) => ({ ntp_address, ntp_maxpoll: 9 });

export const ntpServer = collection('system/ntpserver', {
  shortName: 'ntp',
  title: 'NTP server',
  description: 'A time server of the machine.',
  order: ['ntp_address'],
  fields: {
    ntp_address: titled(
      'Server',
      required(
        text({
          description: 'Name or address of the server.',
          max: 120,
          pattern: /^[A-Za-z0-9]([A-Za-z0-9.:_-]*[A-Za-z0-9])?$/,
          rule: 'Expected a host name or an address.',
        }),
      ),
    ),
    ntp_prefer: titled(
      'Preferred',
      flag(false, { description: 'Whether it is preferred to other servers of the same quality.' }),
    ),
    ...advanced('Polling', {
      ntp_burst: flag(false, { description: 'Whether each poll sends eight requests while the server is reachable.' }),
      ntp_iburst: titled(
        'Burst at start',
        flag(true, {
          description: 'Whether the first poll sends several requests until the server answers.',
        }),
      ),
      ntp_minpoll: titled(
        'Shortest interval',
        integer({
          description: 'Shortest poll interval, as a power of two in seconds.',
          min: 4,
          max: 17,
          initial: 6,
        }),
      ),
      ntp_maxpoll: titled(
        'Longest interval',
        integer({
          description: 'Longest poll interval, as a power of two in seconds.',
          min: 5,
          max: 17,
          initial: 10,
        }),
      ),
      force: titled(
        'Skip the check',
        inputOnly(flag(false, { description: 'Whether to accept the server even if it does not answer now.' })),
      ),
    }),
  },
  seed: () => ['0.freebsd.pool.ntp.org', '1.freebsd.pool.ntp.org', '2.freebsd.pool.ntp.org'].map(server),
  async beforehand(sent, operations, before) {
    const address = sent.ntp_address;
    if (address === undefined || address === before?.ntp_address || sent.force === true) return {};
    const answers = await operations.ask(`query the time server ${address}`, ({ machine }) =>
      machine.answersTime(address),
    );
    if (!answers)
      throw invalid({
        ntp_address: [`${quote(address)} does not answer as a time server. Send force as true to use it anyway.`],
      });
    return {};
  },
  problems: (_servers, { facts }) => clockProblems(facts.condition.clockOffset),
  check({ record, issues }) {
    if (record.ntp_maxpoll <= record.ntp_minpoll)
      issues.add('ntp_maxpoll', 'ntp_maxpoll must be greater than ntp_minpoll.');
    if (record.ntp_address.includes(':') && !isIPv6(record.ntp_address))
      issues.add(
        'ntp_address',
        `Expected a host name, an IPv4 address or an IPv6 address, got ${quote(record.ntp_address)}.`,
      );
  },
});
