import { advanced, flag, refine, text, titled } from '../../engine/declare/fields.ts';
import { ownAddress, port, umask, userName, volumePath } from '../../engine/declare/formats.ts';
import { singleton } from '../../engine/declare/resource.ts';
import { quote, sentenceList, words } from '../../lib/text.ts';
import { service, specific, udp } from './service.ts';

/** The arguments of tftpd-hpa that may be added; all others follow from settings. */
const switches = ['-4', '-6', '-v', '--ipv4', '--ipv6', '--verbose'];

/** Those with a value, after `=` or in the next word. */
const withValue = [
  '--verbosity',
  '--timeout',
  '--retransmit',
  '--map-file',
  '--map-steps',
  '--refuse',
  '--blocksize',
  '--port-range',
];
const knownOptions = [...switches, ...withValue];

export const tftpSettings = singleton('services/tftp', {
  shortName: 'service/tftp',
  title: 'TFTP settings',
  description: 'How the TFTP server serves a folder, without authentication.',
  fields: {
    tftp_directory: titled(
      'Folder',
      volumePath({ description: 'Folder that is served; an empty system folder until it is set.' }),
    ),
    tftp_newfiles: titled('Allow new files', flag(false, { description: 'Whether clients may upload new files.' })),
    ...advanced('Server', {
      tftp_port: port({ description: 'UDP port the server listens on.', initial: 69 }),
      tftp_username: titled('User', userName({ description: 'Account the server works as.', initial: 'nobody' })),
      tftp_umask: titled(
        'Mask',
        umask({ description: 'Permission bits that a new file does not get.', initial: '022' }),
      ),
      tftp_options: refine(
        text({
          description: 'Additional arguments of the server.',
          max: 120,
          pattern: /^[\w ./:=-]+$/,
          rule: 'Expected letters, digits, spaces and _ . / : = - only.',
        }),
        optionProblem,
      ),
      // Not listed in the document (gaps 8.13).
      tftp_host: titled(
        'Address',
        ownAddress({
          description: 'Address the server listens on; 0.0.0.0 is every IPv4 address, :: every address.',
          initial: '0.0.0.0',
        }),
      ),
    }),
  },
  check({ record, issues }) {
    if (record.tftp_newfiles && record.tftp_directory === '')
      issues.add('tftp_newfiles', 'tftp_directory is required when tftp_newfiles is true.');
  },
});

export const tftpService = service('tftp', {
  settings: tftpSettings,
  programs: ['tftpd-hpa'],
  listens: ({ tftp_port, tftp_host }) => [{ ...udp(tftp_port, 'tftp_port'), address: specific(tftp_host) }],
});

/** The server ignores unknown options, and serves a folder that is named by a word of its own. */
function optionProblem(value: string): string | undefined {
  const sent = words(value);
  for (let index = 0; index < sent.length; index += 1) {
    const word = sent[index] ?? '';
    const [name = '', ownValue] = word.split('=', 2);
    if (switches.includes(name) && ownValue === undefined) continue;
    if (!withValue.includes(name))
      return `Expected only the options ${sentenceList(knownOptions)}, got ${quote(word)}.`;
    if (ownValue !== undefined && ownValue !== '') continue;
    index += 1;
    const next = sent[index];
    if (ownValue === '' || next === undefined || next.startsWith('-')) return `Expected a value for ${name}.`;
  }
  return undefined;
}
