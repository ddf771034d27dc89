import { flag, integer, list, nullable, required } from '../../engine/declare/fields.ts';
import { ipAddress, port } from '../../engine/declare/formats.ts';
import { singleton } from '../../engine/declare/resource.ts';
import { nfsServerOf } from './daemons.ts';

export const nfsSettings = singleton('services/nfs', {
  title: 'NFS settings',
  description: 'How the NFS server serves the NFS shares.',
  fields: {
    nfs_srv_servers: integer({ description: 'How many requests are worked on at once.', min: 1, max: 256, initial: 4 }),
    nfs_srv_udp: flag(false, { description: 'Whether clients may come by UDP.' }),
    nfs_srv_allow_nonroot: flag(false, {
      description: 'Whether clients may come from ports that every user of theirs may use.',
    }),
    nfs_srv_v4: flag(false, { description: 'Whether version 4 is served beside version 3.' }),
    nfs_srv_v4_v3owner: flag(false, {
      description: 'Whether version 4 tells owners by numbers, as version 3 does, instead of by names.',
    }),
    nfs_srv_v4_krb: flag(false, { description: 'Whether shares that do not say how want Kerberos of clients.' }),
    nfs_srv_bindip: list(required(ipAddress({ description: 'An address of the machine.' })), {
      description: 'Addresses the server listens on; all when empty.',
      max: 32,
    }),
    nfs_srv_mountd_port: nullable(port({ description: 'Port of the mount daemon; any when unset.' })),
    nfs_srv_rpcstatd_port: nullable(port({ description: 'Port of the status daemon; any when unset.' })),
    nfs_srv_rpclockd_port: nullable(port({ description: 'Port of the lock manager; any when unset.' })),
    nfs_srv_16: flag(false, {
      description: 'Whether the groups of a user are looked up here, so that more than 16 count.',
    }),
    nfs_srv_mountd_log: flag(true, { description: 'Whether the mount daemon notes who mounts what.' }),
    nfs_srv_statd_lockd_log: flag(false, {
      description: 'Whether the status daemon and the lock manager note what they do.',
    }),
  },
  // Gaps 8.8: it falls back when version 4 is switched off.
  complete: ({ record, sent }) =>
    sent.nfs_srv_v4 === false && sent.nfs_srv_v4_v3owner === undefined
      ? { nfs_srv_v4_v3owner: false }
      : { nfs_srv_v4_v3owner: record.nfs_srv_v4_v3owner },
  check({ record, facts, issues }) {
    if (record.nfs_srv_bindip.length > 1 && nfsServerOf(facts.services) === 'nfs-ganesha')
      issues.add('nfs_srv_bindip', 'NFS-Ganesha, the NFS server of this machine, listens on one address, or on all.');
    if (record.nfs_srv_v4_v3owner && !record.nfs_srv_v4) issues.add('nfs_srv_v4_v3owner', 'It needs nfs_srv_v4.');
    if (record.nfs_srv_v4_v3owner && record.nfs_srv_16) issues.add('nfs_srv_16', 'It excludes nfs_srv_v4_v3owner.');
    const ports = [record.nfs_srv_mountd_port, record.nfs_srv_rpcstatd_port, record.nfs_srv_rpclockd_port];
    for (const [index, name] of (
      ['nfs_srv_mountd_port', 'nfs_srv_rpcstatd_port', 'nfs_srv_rpclockd_port'] as const
    ).entries()) {
      const one = ports[index];
      if (one === 111 || one === 2049) issues.add(name, `The port ${one} is NFS's own.`);
      else if (one !== null && ports.indexOf(one ?? null) < index)
        issues.add(name, `Another of these daemons has the port ${one}.`);
    }
  },
});
