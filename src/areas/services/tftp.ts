import { flag, refine, text } from '../../engine/declare/fields.ts';
import { ipAddress, port, umask, userName, volumePath } from '../../engine/declare/formats.ts';
import { singleton } from '../../engine/declare/resource.ts';
import { quote, sentenceList, words } from '../../lib/text.ts';

/** What may be added, of the arguments that tftpd-hpa knows; the others are settings. */
const knownOptions = [
  '-4',
  '-6',
  '-v',
  '--ipv4',
  '--ipv6',
  '--verbose',
  '--verbosity',
  '--timeout',
  '--retransmit',
  '--map-file',
  '--map-steps',
  '--refuse',
  '--blocksize',
  '--port-range',
];

export const tftpSettings = singleton('services/tftp', {
  title: 'TFTP settings',
  description: 'How the TFTP server serves a folder to whoever asks.',
  fields: {
    tftp_directory: volumePath({ description: 'Folder that is served; an empty one of the system until it is set.' }),
    tftp_newfiles: flag(false, { description: 'Whether clients may send files that do not exist yet.' }),
    tftp_port: port({ description: 'UDP port the server listens on.', initial: 69 }),
    tftp_username: userName({ description: 'Account the server works as.', initial: 'nobody' }),
    tftp_umask: umask({ description: 'Permission bits that a new file does not get.', initial: '022' }),
    tftp_options: refine(
      text({
        description: 'Further arguments of the server.',
        max: 120,
        pattern: /^[\w ./:=-]+$/,
        rule: 'Arguments have letters, digits, blanks and _ . / : = - only.',
      }),
      (value) => {
        // The server itself passes over what it does not know.
        const invalid = words(value).find(
          (word) => word.startsWith('-') && !knownOptions.includes(word.split('=')[0] ?? ''),
        );
        return invalid === undefined ? undefined : `${quote(invalid)} is none of ${sentenceList(knownOptions)}.`;
      },
    ),
    // Beyond the document's list (gaps 8.13).
    tftp_host: ipAddress({
      description: 'Address the server listens on; 0.0.0.0 is every IPv4 address, :: every address.',
      initial: '0.0.0.0',
    }),
  },
  check({ record, issues }) {
    if (record.tftp_newfiles && record.tftp_directory === '')
      issues.add('tftp_newfiles', 'There is no folder that clients could send files to.');
  },
});
