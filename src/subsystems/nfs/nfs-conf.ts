import type { nfsSettings } from '../../areas/services/nfs.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { lines } from '../../lib/text.ts';

type Settings = RecordOf<typeof nfsSettings.fields>;

/** `/etc/nfs.conf.d/…`: the kernel's server and its helpers read it when they start. */
export function nfsConf(settings: Settings): string {
  return lines(
    '# Written by Holdfast.',
    '[nfsd]',
    `threads=${settings.nfs_srv_servers}`,
    settings.nfs_srv_bindip.length === 0 ? undefined : `host=${settings.nfs_srv_bindip.join(',')}`,
    `udp=${yes(settings.nfs_srv_udp)}`,
    'tcp=y',
    'vers3=y',
    `vers4=${yes(settings.nfs_srv_v4)}`,
    '[mountd]',
    port(settings.nfs_srv_mountd_port),
    `manage-gids=${yes(settings.nfs_srv_16)}`,
    settings.nfs_srv_mountd_log ? 'debug=auth' : undefined,
    '[statd]',
    port(settings.nfs_srv_rpcstatd_port),
    '[lockd]',
    port(settings.nfs_srv_rpclockd_port),
    settings.nfs_srv_rpclockd_port === null ? undefined : `udp-port=${settings.nfs_srv_rpclockd_port}`,
  );
}

/**
 * Sets kernel parameters before the server starts: the ports of the lock manager, and whether owners are sent as
 * numeric ids. The server starts even if the kernel does not have such a parameter.
 */
export function nfsServerDropIn(settings: Settings): string {
  const lock = settings.nfs_srv_rpclockd_port ?? 0;
  return lines(
    '# Written by Holdfast.',
    '[Service]',
    'ExecStartPre=-/usr/sbin/modprobe -q -a lockd nfsd',
    `ExecStartPre=-/usr/sbin/sysctl -q -w fs.nfs.nlm_tcpport=${lock} fs.nfs.nlm_udpport=${lock}`,
    `ExecStartPre=-/usr/bin/systemd-tmpfiles --create ${nfsKernelFile}`,
    `ExecStartPost=-/usr/sbin/rpcdebug -m nlm -${settings.nfs_srv_statd_lockd_log ? 's' : 'c'} all`,
  );
}

export const nfsKernelFile = '/etc/tmpfiles.d/holdfast-nfs.conf';

export function nfsKernelSettings(settings: Settings): string {
  return lines(
    '# Written by Holdfast.',
    `w- /sys/module/nfsd/parameters/nfs4_disable_idmapping - - - - ${settings.nfs_srv_v4_v3owner ? 'Y' : 'N'}`,
  );
}

function port(value: number | null): string | undefined {
  return value === null ? undefined : `port=${value}`;
}

function yes(flag: boolean): string {
  return flag ? 'y' : 'n';
}
