import type { tftpSettings } from '../../areas/services/tftp.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { unitWord } from '../../lib/systemd.ts';
import { lines, words } from '../../lib/text.ts';

type Settings = RecordOf<typeof tftpSettings.fields>;

/** The empty folder of Debian's package. */
const emptyFolder = '/srv/tftp';

/**
 * tftpd-hpa has no configuration file, only arguments. They are in a drop-in of its systemd unit, where arguments can
 * be quoted; systemd would split those in `/etc/default/tftpd-hpa` at blanks.
 */
export function tftpdUnit(settings: Settings): string {
  const address = settings.tftp_host.includes(':') ? `[${settings.tftp_host}]` : settings.tftp_host;
  const command = [
    '/usr/sbin/in.tftpd',
    '--listen',
    '--user',
    unitWord(settings.tftp_username),
    '--address',
    // Without a host, tftpd listens on all IPv4 and IPv6 addresses.
    unitWord(`${settings.tftp_host === '::' || settings.tftp_host === '' ? '' : address}:${settings.tftp_port}`),
    '--secure',
    // File permissions of the account decide. Otherwise clients could only write to files that are writable for
    // everyone.
    '--permissive',
    '--umask',
    settings.tftp_umask || '022',
    ...(settings.tftp_newfiles ? ['--create'] : []),
    ...words(settings.tftp_options).map(unitWord),
    unitWord(settings.tftp_directory || emptyFolder),
  ];
  return lines('# Written by Holdfast.', '[Service]', 'ExecStart=', `ExecStart=${command.join(' ')}`);
}
