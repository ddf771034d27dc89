import { flag, refine, text } from '../../engine/declare/fields.ts';
import { ownAddress, port, umask, userName, volumePath } from '../../engine/declare/formats.ts';
import { singleton } from '../../engine/declare/resource.ts';
import { quote, sentenceList, words } from '../../lib/text.ts';

/** The arguments of tftpd-hpa that may be added; all others follow from settings. */
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
  description: 'How the TFTP server serves a folder, without authentication.',
  fields: {
    tftp_directory: volumePath({ description: 'Folder that is served; an empty system folder until it is set.' }),
    tftp_newfiles: flag(false, { description: 'Whether clients may upload new files.' }),
    tftp_port: port({ description: 'UDP port the server listens on.', initial: 69 }),
    tftp_username: userName({ description: 'Account the server works as.', initial: 'nobody' }),
    tftp_umask: umask({ description: 'Permission bits that a new file does not get.', initial: '022' }),
    tftp_options: refine(
      text({
        description: 'Additional arguments of the server.',
        max: 120,
        pattern: /^[\w ./:=-]+$/,
        rule: 'Expected letters, digits, spaces and _ . / : = - only.',
      }),
      (value) => {
        // The server itself ignores unknown arguments.
        const invalid = words(value).find(
          (option) => option.startsWith('-') && !knownOptions.includes(option.split('=')[0] ?? ''),
        );
        return invalid === undefined
          ? undefined
          : `Expected only the options ${sentenceList(knownOptions)}, got ${quote(invalid)}.`;
      },
    ),
    // Not listed in the document (gaps 8.13).
    tftp_host: ownAddress({
      description: 'Address the server listens on; 0.0.0.0 is every IPv4 address, :: every address.',
      initial: '0.0.0.0',
    }),
  },
  check({ record, issues }) {
    if (record.tftp_newfiles && record.tftp_directory === '')
      issues.add('tftp_newfiles', 'tftp_directory is required when tftp_newfiles is true.');
  },
});
