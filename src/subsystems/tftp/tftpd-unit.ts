import type { tftpSettings } from '../../areas/services/tftp.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { unitWord } from '../../lib/systemd.ts';
import { lines, words } from '../../lib/text.ts';

type Settings = RecordOf<typeof tftpSettings.fields>;

/** Debian's own folder for it, which is empty. */
const emptyFolder = '/srv/tftp';

/**
 * The server has no file of settings, only arguments. They stand in a drop-in of its unit, where every word stays one;
 * `/etc/default/tftpd-hpa` would be split at blanks.
 */
export function tftpdUnit(settings: Settings): string {
  const address = settings.tftp_host.includes(':') ? `[${settings.tftp_host}]` : settings.tftp_host;
  const command = [
    '/usr/sbin/in.tftpd',
    '--listen',
    '--user',
    unitWord(settings.tftp_username),
    '--address',
    // Without an address it listens on all of both kinds.
    unitWord(`${settings.tftp_host === '::' || settings.tftp_host === '' ? '' : address}:${settings.tftp_port}`),
    '--secure',
    // The account's own rights decide. Otherwise a new file would have to be writable for all.
    '--permissive',
    '--umask',
    settings.tftp_umask || '022',
    ...(settings.tftp_newfiles ? ['--create'] : []),
    ...words(settings.tftp_options).map(unitWord),
    unitWord(settings.tftp_directory || emptyFolder),
  ];
  return lines('# Written by Holdfast.', '[Service]', 'ExecStart=', `ExecStart=${command.join(' ')}`);
}
