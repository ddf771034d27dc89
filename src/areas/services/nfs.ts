import { advanced, basic, flag, integer, list, nullable, required, titled } from '../../engine/declare/fields.ts';
import { ownAddress, port } from '../../engine/declare/formats.ts';
import { singleton } from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { service, tcp, udp } from './service.ts';

export const nfsSettings = singleton('services/nfs', {
  shortName: 'service/nfs',
  title: 'NFS settings',
  description: 'How the NFS server serves the NFS shares.',
  fields: {
    nfs_srv_servers: titled(
      'Threads',
      integer({ description: 'Number of NFS server threads.', min: 1, max: 256, initial: 4 }),
    ),
    ...advanced('Protocol', {
      nfs_srv_udp: titled('UDP', flag(false, { description: 'Whether clients may connect by UDP.' })),
    }),
    ...advanced('Access', {
      nfs_srv_allow_nonroot: titled(
        'Unprivileged ports',
        flag(false, {
          description: 'Whether clients may connect from non-privileged ports.',
        }),
      ),
    }),
    ...basic('Protocol', {
      nfs_srv_v4: titled(
        'NFS version 4',
        flag(false, { description: 'Whether NFSv4 is served in addition to NFSv3.' }),
      ),
    }),
    ...advanced('Protocol', {
      nfs_srv_v4_v3owner: titled(
        'Numeric owners in version 4',
        flag(false, {
          description: 'Whether NFSv4 identifies owners by number, as NFSv3 does, instead of by name.',
        }),
      ),
      nfs_srv_v4_krb: titled(
        'Require Kerberos',
        flag(false, { description: 'Whether shares without nfs_security require Kerberos.' }),
      ),
    }),
    ...advanced('Network', {
      nfs_srv_bindip: titled(
        'Addresses',
        list(required(ownAddress({ description: 'An address of the machine.' })), {
          description: 'Addresses the server listens on; all when empty.',
          max: 32,
        }),
      ),
      nfs_srv_mountd_port: titled(
        'Port of mountd',
        nullable(port({ description: 'Port of mountd; chosen automatically when null.' })),
      ),
      nfs_srv_rpcstatd_port: titled(
        'Port of statd',
        nullable(port({ description: 'Port of statd; chosen automatically when null.' })),
      ),
      nfs_srv_rpclockd_port: titled(
        'Port of lockd',
        nullable(port({ description: 'Port of lockd; chosen automatically when null.' })),
      ),
    }),
    ...advanced('Access', {
      nfs_srv_16: titled(
        'More than 16 groups',
        flag(false, {
          description: 'Whether the server looks up the groups of a user itself, which allows more than 16 groups.',
        }),
      ),
    }),
    ...advanced('Log', {
      nfs_srv_mountd_log: titled('Log of mountd', flag(true, { description: 'Whether mountd logs mount requests.' })),
      nfs_srv_statd_lockd_log: titled(
        'Log of statd and lockd',
        flag(false, {
          description: 'Whether statd and lockd log their activity.',
        }),
      ),
    }),
  },
  // Switching NFSv4 off also resets nfs_srv_v4_v3owner (gaps 8.8).
  complete: ({ record, sent }) =>
    sent.nfs_srv_v4 === false && sent.nfs_srv_v4_v3owner === undefined
      ? { nfs_srv_v4_v3owner: false }
      : { nfs_srv_v4_v3owner: record.nfs_srv_v4_v3owner },
  check({ record, facts, issues }) {
    if (record.nfs_srv_bindip.length > 1 && nfsServerOf(facts.services) === 'nfs-ganesha')
      issues.add(
        'nfs_srv_bindip',
        'Expected one address, or none for all: the NFS server of this machine is NFS-Ganesha.',
      );
    if (record.nfs_srv_v4_v3owner && !record.nfs_srv_v4)
      issues.add('nfs_srv_v4_v3owner', 'nfs_srv_v4_v3owner requires nfs_srv_v4.');
    if (record.nfs_srv_v4_v3owner && record.nfs_srv_16)
      issues.add('nfs_srv_16', 'nfs_srv_16 cannot be combined with nfs_srv_v4_v3owner.');
    const ports = [record.nfs_srv_mountd_port, record.nfs_srv_rpcstatd_port, record.nfs_srv_rpclockd_port];
    for (const [index, name] of (
      ['nfs_srv_mountd_port', 'nfs_srv_rpcstatd_port', 'nfs_srv_rpclockd_port'] as const
    ).entries()) {
      const chosen = ports[index];
      if (chosen === 111 || chosen === 2049) issues.add(name, `Port ${chosen} is reserved for NFS itself.`);
      else if (chosen !== null && ports.indexOf(chosen ?? null) < index)
        issues.add(name, `Port ${chosen} is already used by another NFS daemon.`);
    }
  },
});

export const nfsService = service('nfs', {
  settings: nfsSettings,
  programs: ['nfs-server'],
  alternatives: ['nfs-ganesha'],
  helpers: ['nfs-mountd', 'rpc-statd', 'rpcbind'],
  servesVolumes: true,
  units: (installed) => [nfsServerOf(installed)],
  listens(settings) {
    const helpers = (['nfs_srv_mountd_port', 'nfs_srv_rpcstatd_port', 'nfs_srv_rpclockd_port'] as const).flatMap(
      (field) => {
        const port = settings[field];
        return port === null ? [] : [tcp(port, field), udp(port, field)];
      },
    );
    return [tcp(111), udp(111), tcp(2049), ...helpers];
  },
});

/** The kernel NFS server, or NFS-Ganesha where only that is installed. */
export function nfsServerOf(services: Facts['services']): 'nfs-server' | 'nfs-ganesha' {
  const has = (name: string) => services.get(name)?.installed === true;
  return has('nfs-ganesha') && !has('nfs-server') ? 'nfs-ganesha' : 'nfs-server';
}
