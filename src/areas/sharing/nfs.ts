import { invalid } from '../../engine/declare/errors.ts';
import {
  advanced,
  basic,
  choice,
  flag,
  list,
  refine,
  required,
  shortNamed,
  text,
  titled,
} from '../../engine/declare/fields.ts';
import { groupName, userName, volumeOf, volumePath, volumesFolder } from '../../engine/declare/formats.ts';
import { type Checking, collection, type RecordOf } from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { absence, datasetOf } from '../../engine/facts/places.ts';
import { overlap, parseNetwork } from '../../lib/ip.ts';
import { memo } from '../../lib/memo.ts';
import { quote, words } from '../../lib/text.ts';
import { exposureProblem } from '../folders/exposure.ts';
import { nfsServerOf } from '../services/nfs.ts';
import { createField, makeShareFolder } from './folder.ts';

export const nfsShare = collection('sharing/nfs', {
  shortName: 'share/nfs',
  columns: ['nfs_paths', 'nfs_network', 'nfs_hosts', 'nfs_ro', 'nfs_comment'],
  nameField: 'nfs_paths',
  title: 'NFS share',
  description: 'Folders of one dataset that NFS clients may mount.',
  removedWithVolume: 'cascade',
  binned: true,
  keys: keysByClient,
  fields: {
    nfs_paths: titled(
      'Folders',
      required(
        refine(
          list(refine(volumePath({ description: 'A folder. It is created when it does not exist.' }), blankProblem), {
            description: 'The folders, all of one dataset.',
            max: 64,
          }),
          (paths) => (paths.length === 0 ? 'Expected at least one path.' : undefined),
        ),
      ),
    ),
    ...createField,
    nfs_comment: text({ description: 'Comment.', max: 120 }),
    ...basic('Clients', {
      nfs_network: titled(
        'Networks',
        refine(
          text({
            description: 'Networks that may mount the share, as 192.0.2.0/24, separated by spaces.',
            max: 4096,
            multiline: true,
          }),
          networkProblem,
        ),
      ),
      nfs_hosts: refine(
        text({
          description:
            'Hosts that may mount the share, by name or address, separated by spaces. Without networks and hosts, all clients may mount it.',
          max: 4096,
          multiline: true,
        }),
        hostProblem,
      ),
    }),
    ...advanced('Access', {
      nfs_alldirs: titled(
        'Folders below',
        flag(false, {
          description: 'Whether clients may also mount folders below the path. It requires exactly one path.',
        }),
      ),
    }),
    ...basic('Access', {
      nfs_ro: shortNamed(
        'read_only',
        titled('Read-only', flag(false, { description: 'Whether the share is read-only.' })),
      ),
    }),
    ...advanced('Access', {
      nfs_quiet: flag(false, { description: 'Whether some log messages of the server are suppressed.' }),
    }),
    ...advanced('Accounts', {
      nfs_maproot_user: titled(
        'User for root',
        userName({ description: 'User that root of a client is mapped to; nobody when empty.', spaces: true }),
      ),
      nfs_maproot_group: titled(
        'Group for root',
        groupName({
          description: 'Group that root of a client is mapped to; the primary group of the user when empty.',
          spaces: true,
        }),
      ),
      nfs_mapall_user: titled(
        'User for everybody',
        userName({ description: 'User that all users of clients are mapped to.', spaces: true }),
      ),
      nfs_mapall_group: titled(
        'Group for everybody',
        groupName({
          description: 'Group that all users of clients are mapped to; the primary group of the user when empty.',
          spaces: true,
        }),
      ),
    }),
    ...advanced('Access', {
      nfs_security: list(choice(['sys', 'krb5', 'krb5i', 'krb5p'], { description: 'A security flavor.' }), {
        description: 'Security flavors, the preferred one first, with every version of NFS.',
        max: 4,
      }),
    }),
  },
  check(checking) {
    const { record, issues, facts } = checking;
    if (record.nfs_alldirs && record.nfs_paths.length > 1)
      issues.add('nfs_alldirs', 'nfs_alldirs requires exactly one path.');
    if (record.nfs_mapall_user !== '' && record.nfs_maproot_user !== '')
      issues.add('nfs_mapall_user', 'nfs_mapall_user cannot be combined with nfs_maproot_user.');
    if (record.nfs_mapall_group !== '' && record.nfs_mapall_user === '')
      issues.add('nfs_mapall_group', 'nfs_mapall_group requires nfs_mapall_user.');
    if (record.nfs_maproot_group !== '' && record.nfs_maproot_user === '')
      issues.add('nfs_maproot_group', 'nfs_maproot_group requires nfs_maproot_user.');
    const datasets = new Set(record.nfs_paths.map((path) => holderOf(path, facts)));
    if (datasets.size > 1)
      issues.add(
        'nfs_paths',
        `Expected paths on one dataset, got paths on ${[...datasets].map((name) => quote(name)).join(' and ')}. Create a share for each dataset.`,
      );
    if (nfsServerOf(facts.services) === 'nfs-ganesha')
      for (const problem of record.nfs_paths.flatMap((path) => ganeshaProblem(path) ?? []))
        issues.add('nfs_paths', problem);
    checkOverlap(checking);
  },
  async beforehand({ nfs_paths: paths = [] }, operations, before) {
    for (const path of paths.filter((added) => before?.nfs_paths.includes(added) !== true)) {
      const exposed = await exposureProblem(operations, path);
      if (exposed !== undefined) throw invalid({ nfs_paths: [exposed] });
    }
    return {};
  },
  onSave({ draft, record, before, sent, facts }) {
    for (const path of record.nfs_paths.filter((added) => before?.nfs_paths.includes(added) !== true)) {
      const volume = volumeOf(path, facts);
      if (volume === undefined) continue;
      const within = `${volumesFolder}/${volume}`;
      makeShareFolder(draft.plan, { path, within, field: 'nfs_paths', create: sent.create });
    }
  },
});

export type NfsShare = RecordOf<typeof nfsShare.fields>;

/**
 * With overlapping shares, the server cannot decide whose options apply to a client (gaps 6.2). Clients compare these
 * messages (B8).
 */
function checkOverlap({ record, view, facts, issues }: Checking<typeof nfsShare.fields>): void {
  const [path = ''] = record.nfs_paths;
  const mine = holderOf(path, facts);
  const own = clientsOf(record);
  // What a share of the same dataset can have in common with this one.
  const clients = [...own.hosts, ...(own.isForAll || own.networks.length > 0 ? [everyHost, someNetworks] : [])];
  const near = new Set(clients.flatMap((client) => view.keyed(nfsShare, clientKey(mountpointOf(path, facts), client))));
  for (const other of [...near].toSorted((a, b) => a.id - b.id)) {
    if (other.id === record.id) continue;
    const problems = meetings(own, clientsOf(other));
    if (problems === none || holderOf(other.nfs_paths[0] ?? '', facts) !== mine) continue;
    // A share whose folder is gone is not served, so it does not stand in the way.
    if (other.nfs_paths.some((one) => absence({ path: one }, facts.storage) !== undefined)) continue;
    for (const { field, message } of problems) issues.add(field, message);
  }
}

/** The part of a share that says what is exported to whom. */
interface Exported {
  readonly nfs_paths: readonly string[];
  readonly nfs_network: string;
  readonly nfs_hosts: string;
}

/** In keys, in place of a host: a share for all hosts, and a share with networks. */
const everyHost = '*';
const someNetworks = '/';

const clientKey = (folder: string, client: string) => `${folder}\n${client}`;

/**
 * Shares are found by folder and client, because there can be thousands of one dataset or for one host. Which dataset a
 * share is on depends on the machine, so that each folder above its path is a key: one of them is where the dataset is
 * mounted.
 */
function keysByClient(share: Exported): readonly string[] {
  const { networks, hosts, isForAll } = clientsOf(share);
  const clients = [...hosts, ...(isForAll ? [everyHost] : []), ...(networks.length > 0 ? [someNetworks] : [])];
  return foldersAbove(share.nfs_paths[0] ?? '').flatMap((folder) => clients.map((client) => clientKey(folder, client)));
}

/** A path and the folders above it up to its volume, such as `/mnt/tank/a` and `/mnt/tank`. */
function foldersAbove(path: string): readonly string[] {
  const [, mnt = '', volume = '', ...rest] = path.split('/');
  return Array.from({ length: rest.length + 1 }, (_, depth) => ['', mnt, volume, ...rest.slice(0, depth)].join('/'));
}

/** Where the dataset that contains the path is mounted; the folder of the volume when none is. */
function mountpointOf(path: string, { storage }: Facts): string {
  const dataset = datasetOf(path, storage);
  return (
    (dataset === undefined ? undefined : storage.datasets.get(dataset)?.mountpoint) ??
    path.split('/').slice(0, 3).join('/')
  );
}

interface Meeting {
  readonly field: 'nfs_network' | 'nfs_hosts';
  readonly message: string;
}

const none: readonly Meeting[] = Object.freeze([]);
const someNetwork: Meeting = Object.freeze({
  field: 'nfs_network',
  message: 'Another NFS share already exports this dataset for some network',
});
const allHosts: Meeting = Object.freeze({
  field: 'nfs_network',
  message: "You can't share same filesystem with all hosts twice.",
});

/** What keeps two shares of one dataset from having these clients. */
function meetings({ networks, hosts, isForAll }: Clients, theirs: Clients): readonly Meeting[] {
  const twice = hosts.find((host) => theirs.hosts.includes(host));
  const isAllTwice = isForAll && theirs.isForAll;
  const isAllBeside = isForAll ? theirs.networks.length > 0 : theirs.isForAll && networks.length > 0;
  const isMet = networks.some((network) => theirs.networks.some((other) => meet(network, other)));
  if (twice === undefined && !isAllTwice && !isAllBeside && !isMet) return none;
  return [
    ...(isAllTwice ? [allHosts] : []),
    ...(isAllBeside ? [someNetwork] : []),
    ...(twice === undefined
      ? []
      : [{ field: 'nfs_hosts' as const, message: `Another NFS share already exports this dataset for ${twice}` }]),
    ...(isMet ? [someNetwork] : []),
  ];
}

interface Clients {
  readonly networks: readonly string[];
  readonly hosts: readonly string[];
  readonly isForAll: boolean;
}

/** Parsed clients of each share: a new share is compared with thousands of others, so each share is parsed once. */
const clientsOf = memo((share: Exported): Clients => {
  const [networks, hosts] = [words(share.nfs_network), words(share.nfs_hosts)];
  return { networks, hosts, isForAll: networks.length + hosts.length === 0 };
});

function meet(a: string, b: string): boolean {
  const [one, other] = [parseNetwork(a), parseNetwork(b)];
  return one !== undefined && other !== undefined && one.family === other.family && overlap(one, other);
}

/** The dataset that contains the path; the volume when no dataset is mounted there. */
function holderOf(path: string, { storage }: Facts): string {
  return datasetOf(path, storage) ?? path.split('/')[2] ?? path;
}

function blankProblem(path: string): string | undefined {
  return /\s/.test(path) ? `Expected a path without spaces, got ${quote(path)}.` : undefined;
}

/** Ganesha's configuration quotes strings but has no escape for a quote within a string. */
export function ganeshaProblem(path: string): string | undefined {
  const stray = /["'\\$#]/.exec(path);
  return stray === null
    ? undefined
    : `NFS-Ganesha, the NFS server of this machine, cannot serve ${quote(path)}: expected a path without ${quote(stray[0])}.`;
}

function networkProblem(value: string): string | undefined {
  const invalid = words(value).find((network) => parseNetwork(network) === undefined);
  return invalid === undefined ? undefined : `Expected a network, as 192.0.2.0/24, got ${quote(invalid)}.`;
}

function hostProblem(value: string): string | undefined {
  const invalid = words(value).find(
    (host) => !/^(?:[A-Za-z0-9*?](?:[A-Za-z0-9._*?-]*)|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*)$/.test(host),
  );
  return invalid === undefined ? undefined : `Expected the name or address of a host, got ${quote(invalid)}.`;
}
