import { choice, flag, list, refine, required, text } from '../../engine/declare/fields.ts';
import { groupName, userName, volumeOf, volumePath, volumesFolder } from '../../engine/declare/formats.ts';
import { type Checking, collection, type RecordOf, type World } from '../../engine/declare/resource.ts';
import type { Storage } from '../../engine/upkeep/storage-facts.ts';
import { overlap, parseNetwork } from '../../lib/ip.ts';
import { parentOf } from '../../lib/path.ts';
import { quote, words } from '../../lib/text.ts';
import { nfsServerOf } from '../services/daemons.ts';
import { nfsSettings } from '../services/nfs.ts';
import { makeShareFolder } from './folder.ts';

export const nfsShare = collection('sharing/nfs', {
  title: 'NFS share',
  description: 'Folders of one dataset that NFS clients may mount.',
  fields: {
    nfs_paths: required(
      refine(
        list(refine(volumePath({ description: 'A folder. It is made when it does not exist.' }), blankProblem), {
          description: 'The folders, all of one dataset.',
          max: 64,
        }),
        (paths) => (paths.length === 0 ? 'At least one path is wanted.' : undefined),
      ),
    ),
    nfs_comment: text({ description: 'What the share is for.', max: 120 }),
    nfs_network: refine(
      text({
        description: 'Networks that may mount it, as 192.0.2.0/24, separated by blanks.',
        max: 4096,
        multiline: true,
      }),
      networkProblem,
    ),
    nfs_hosts: refine(
      text({
        description:
          'Hosts that may mount it, by name or address, separated by blanks. All may, when neither networks nor hosts are given.',
        max: 4096,
        multiline: true,
      }),
      hostProblem,
    ),
    nfs_alldirs: flag(false, {
      description: 'Whether clients may mount folders below the path as well. Wanted of a share with one path only.',
    }),
    nfs_ro: flag(false, { description: 'Whether nobody may write.' }),
    nfs_quiet: flag(false, { description: 'Whether some messages of the server are left out.' }),
    nfs_maproot_user: userName({ description: "User that a client's root works as; nobody when empty." }),
    nfs_maproot_group: groupName({
      description: "Group that a client's root works as; the group of the user when empty.",
    }),
    nfs_mapall_user: userName({ description: 'User that everybody works as.' }),
    nfs_mapall_group: groupName({ description: 'Group that everybody works as; the group of the user when empty.' }),
    nfs_security: list(choice(['sys', 'krb5', 'krb5i', 'krb5p'], { description: 'A way to tell who a user is.' }), {
      description: 'Ways to tell who a user is, the preferred first. Without NFSv4 it stays empty.',
      max: 4,
    }),
  },
  complete: ({ record, view }) => ({ nfs_security: view.only(nfsSettings).nfs_srv_v4 ? record.nfs_security : [] }),
  check(checking) {
    const { record, issues, facts } = checking;
    if (record.nfs_alldirs && record.nfs_paths.length > 1) issues.add('nfs_alldirs', 'It goes with exactly one path.');
    if (record.nfs_mapall_user !== '' && record.nfs_maproot_user !== '')
      issues.add('nfs_mapall_user', 'It excludes nfs_maproot_user: everybody is somebody else, or only root is.');
    if (record.nfs_mapall_group !== '' && record.nfs_mapall_user === '')
      issues.add('nfs_mapall_group', 'It needs nfs_mapall_user.');
    if (record.nfs_maproot_group !== '' && record.nfs_maproot_user === '')
      issues.add('nfs_maproot_group', 'It needs nfs_maproot_user.');
    const datasets = new Set(record.nfs_paths.map((path) => datasetOf(path, { facts })));
    if (datasets.size > 1)
      issues.add(
        'nfs_paths',
        `They lie on different datasets, ${[...datasets].map((name) => quote(name)).join(' and ')}: make a share for each.`,
      );
    if (nfsServerOf(facts.services) === 'nfs-ganesha')
      for (const problem of record.nfs_paths.flatMap((path) => ganeshaProblem(path) ?? []))
        issues.add('nfs_paths', problem);
    checkOverlap(checking);
  },
  onSave({ draft, record, before, facts }) {
    for (const path of record.nfs_paths.filter((one) => before?.nfs_paths.includes(one) !== true)) {
      const volume = volumeOf(path, facts);
      if (volume !== undefined)
        makeShareFolder(draft.plan, path, { within: `${volumesFolder}/${volume}`, recursive: false });
    }
  },
});

export type NfsShare = RecordOf<typeof nfsShare.fields>;

/** The server would not know by whose rules a client comes in (gaps 6.2); the sentences are what programs look for (B8). */
function checkOverlap({ record, view, facts, issues }: Checking<typeof nfsShare.fields>): void {
  const mine = datasetOf(record.nfs_paths[0] ?? '', { facts });
  const { networks, hosts, isForAll } = clientsOf(record);
  for (const other of view.all(nfsShare)) {
    if (other.id === record.id || datasetOf(other.nfs_paths[0] ?? '', { facts }) !== mine) continue;
    const theirs = clientsOf(other);
    if (isForAll && theirs.isForAll) issues.add('nfs_network', "You can't share same filesystem with all hosts twice.");
    else if (isForAll ? theirs.networks.length > 0 : theirs.isForAll && networks.length > 0)
      issues.add('nfs_network', 'Another NFS share already exports this dataset for some network');
    const twice = hosts.find((host) => theirs.hosts.includes(host));
    if (twice !== undefined) issues.add('nfs_hosts', `Another NFS share already exports this dataset for ${twice}`);
    if (networks.some((network) => theirs.networks.some((other) => meet(network, other))))
      issues.add('nfs_network', 'Another NFS share already exports this dataset for some network');
  }
}

interface Clients {
  readonly networks: readonly string[];
  readonly hosts: readonly string[];
  readonly isForAll: boolean;
}

/** Each share's, taken apart once: a new share is held against thousands. */
const clients = new WeakMap<NfsShare, Clients>();

function clientsOf(share: NfsShare): Clients {
  const known = clients.get(share);
  if (known !== undefined) return known;
  const [networks, hosts] = [words(share.nfs_network), words(share.nfs_hosts)];
  const made = { networks, hosts, isForAll: networks.length + hosts.length === 0 };
  clients.set(share, made);
  return made;
}

function meet(a: string, b: string): boolean {
  const [one, other] = [parseNetwork(a), parseNetwork(b)];
  return one !== undefined && other !== undefined && one.family === other.family && overlap(one, other);
}

/** The dataset whose folder the path lies in; the volume itself for one that is not mounted. */
export function datasetOf(path: string, { facts }: Pick<World, 'facts'>): string {
  const mounted = mountedAt(facts.storage.datasets);
  for (let folder = path; folder !== '' && folder !== '/'; folder = parentOf(folder)) {
    const name = mounted.get(folder);
    if (name !== undefined) return name;
  }
  return path.split('/')[2] ?? path;
}

/** Datasets by the folders that they are mounted at, put down once for each look at the machine. */
const mounts = new WeakMap<Storage['datasets'], ReadonlyMap<string, string>>();

function mountedAt(datasets: Storage['datasets']): ReadonlyMap<string, string> {
  const known = mounts.get(datasets);
  if (known !== undefined) return known;
  const made = new Map(
    [...datasets.values()].flatMap(({ name, mountpoint }) =>
      mountpoint === undefined ? [] : [[mountpoint, name] as const],
    ),
  );
  mounts.set(datasets, made);
  return made;
}

function blankProblem(path: string): string | undefined {
  return /\s/.test(path) ? `${quote(path)} has blanks, which a path of NFS has not.` : undefined;
}

/** Ganesha's file has words in quotes, but nothing to write a quote in one. */
export function ganeshaProblem(path: string): string | undefined {
  const stray = /["'\\$#]/.exec(path);
  return stray === null
    ? undefined
    : `NFS-Ganesha, the NFS server of this machine, cannot serve ${quote(path)}: it would read ${quote(stray[0])} in it as something else.`;
}

function networkProblem(value: string): string | undefined {
  const invalid = words(value).find((word) => parseNetwork(word) === undefined);
  return invalid === undefined ? undefined : `${quote(invalid)} is no network: write 192.0.2.0/24.`;
}

function hostProblem(value: string): string | undefined {
  const invalid = words(value).find(
    (word) => !/^(?:[A-Za-z0-9*?](?:[A-Za-z0-9._*?-]*)|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*)$/.test(word),
  );
  return invalid === undefined ? undefined : `${quote(invalid)} is no name or address of a host.`;
}
