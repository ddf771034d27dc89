import { isIPv6 } from 'node:net';
import { invalid } from '../../engine/declare/errors.ts';
import { flag, inputOnly, integer, required, text } from '../../engine/declare/fields.ts';
import { collection } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';

const server = (ntp_address: string) => ({ ntp_address, ntp_maxpoll: 9 });

export const ntpServer = collection('system/ntpserver', {
  title: 'NTP server',
  description: "A server that the machine's clock goes by.",
  order: ['ntp_address'],
  fields: {
    ntp_address: required(
      text({
        description: 'Name or address of the server.',
        max: 120,
        pattern: /^[A-Za-z0-9]([A-Za-z0-9.:_-]*[A-Za-z0-9])?$/,
        rule: 'A host name or an address is wanted.',
      }),
    ),
    ntp_prefer: flag(false, { description: 'Whether it is chosen before others that are as good.' }),
    ntp_burst: flag(false, { description: 'Whether it is asked eight times in a row while it answers.' }),
    ntp_iburst: flag(true, {
      description: 'Whether it is asked several times in a row while it has not answered yet.',
    }),
    ntp_minpoll: integer({
      description: 'Least time between two questions, as the exponent of 2 in seconds.',
      min: 4,
      max: 17,
      initial: 6,
    }),
    ntp_maxpoll: integer({
      description: 'Longest time between two questions, as the exponent of 2 in seconds.',
      min: 5,
      max: 17,
      initial: 10,
    }),
    force: inputOnly(flag(false, { description: 'Whether the server is taken although it does not answer now.' })),
  },
  seed: () => ['0.freebsd.pool.ntp.org', '1.freebsd.pool.ntp.org', '2.freebsd.pool.ntp.org'].map(server),
  async beforehand(sent, operations, before) {
    const address = sent.ntp_address;
    if (address === undefined || address === before?.ntp_address || sent.force === true) return {};
    const answers: boolean[] = [];
    await operations.perform({
      title: `ask ${address} for the time`,
      async perform({ machine }) {
        answers.push(await machine.answersTime(address));
      },
    });
    if (answers[0] !== true)
      throw invalid({
        ntp_address: [
          `${quote(address)} does not answer as a time server. Send force as true to take it all the same.`,
        ],
      });
    return {};
  },
  check({ record, issues }) {
    if (record.ntp_maxpoll <= record.ntp_minpoll) issues.add('ntp_maxpoll', 'It must lie above ntp_minpoll.');
    if (record.ntp_address.includes(':') && !isIPv6(record.ntp_address))
      issues.add('ntp_address', `${quote(record.ntp_address)} is no IPv6 address.`);
  },
});
