/** What the first hour of an appliance has to do, and what of it is there already. */
import { client } from '../base/client.ts';
import { listIn, type Row, rowsIn, textIn } from '../base/json.ts';
import * as t from '../texts/parts/first-hour.ts';

export const stages = [
  { name: 'password', title: t.password },
  { name: 'pool', title: t.pool },
  { name: 'dataset', title: t.dataset },
  { name: 'account', title: t.account },
  { name: 'share', title: t.share },
  { name: 'snapshots', title: t.snapshots },
  { name: 'address', title: t.address },
] as const;

export type StageName = (typeof stages)[number]['name'];

export interface Account {
  readonly name: string;
  /** Its primary group; empty if it is not known. */
  readonly group: string;
}

export interface Shared {
  readonly protocol: 'SMB' | 'NFS';
  /** The name of an SMB share; empty for NFS. */
  readonly name: string;
  readonly folder: string;
  readonly isForGuests: boolean;
}

export interface Service {
  readonly id: string;
  readonly isOn: boolean;
  readonly runs: boolean;
}

/** What is there. */
export interface FirstHour {
  /** The id of root; undefined where another account is signed in, or the password was set before. */
  readonly root: string | undefined;
  readonly pools: readonly string[];
  /** Datasets below the pools, with where they are mounted. */
  readonly datasets: readonly { readonly name: string; readonly mountpoint: string }[];
  readonly accounts: readonly Account[];
  readonly shares: readonly Shared[];
  readonly services: Readonly<Record<'cifs' | 'nfs', Service>>;
  /** The datasets with a schedule of snapshots. */
  readonly scheduled: readonly string[];
  readonly hostname: string;
}

export const topics = [
  ...['machine', 'revisions', 'record:account/users', 'record:sharing/cifs', 'record:sharing/nfs'],
  ...['record:storage/task', 'record:services/services', 'record:storage/volume'],
];

const listOf = async (path: string): Promise<readonly Row[]> =>
  rowsIn(await client.request('GET', `/api/v1.0/${path}${path.includes('?') ? '&' : '?'}limit=0`));

/** Reads it for the account that is signed in. */
export async function readFirstHour(person: string): Promise<FirstHour> {
  const [volumes, datasets, users, groups, smb, nfs, services, tasks, network, passwords] = await Promise.all([
    listOf('storage/volume/?fields=name'),
    listOf('storage/dataset/?fields=name,mountpoint'),
    listOf('account/users/?fields=id,bsdusr_username,bsdusr_group,bsdusr_builtin'),
    listOf('account/groups/?fields=id,bsdgrp_group'),
    listOf('sharing/cifs/?fields=cifs_name,cifs_path,cifs_guestok'),
    listOf('sharing/nfs/?fields=nfs_paths'),
    listOf('services/services/'),
    listOf('storage/task/?fields=task_filesystem'),
    client.request('GET', '/api/v1.0/network/globalconfiguration/').catch(() => ({})),
    client.get('/api/holdfast/v1/revisions', {
      query: { filter: [`title=set the password of the user ${person}`], limit: 1, fields: ['number'] },
    }),
  ]);
  const serviceOf = (name: string): Service => {
    const one = services.find((row) => row['srv_service'] === name);
    return { id: textIn(one?.['id']), isOn: one?.['srv_enable'] === true, runs: one?.['srv_state'] === 'RUNNING' };
  };
  const root = users.find((row) => row['bsdusr_username'] === 'root');
  return {
    root: person === 'root' && passwords.length === 0 ? textIn(root?.['id']) : undefined,
    pools: volumes.map((row) => textIn(row['name'])),
    datasets: datasets
      .map((row) => ({ name: textIn(row['name']), mountpoint: textIn(row['mountpoint']) }))
      .filter(({ name }) => name.includes('/')),
    accounts: users
      .filter((row) => row['bsdusr_builtin'] !== true)
      .map((row) => ({
        name: textIn(row['bsdusr_username']),
        group: textIn(groups.find(({ id }) => id === row['bsdusr_group'])?.['bsdgrp_group']),
      })),
    shares: [
      ...smb.map((row) => ({
        ...{ protocol: 'SMB' as const, name: textIn(row['cifs_name']), folder: textIn(row['cifs_path']) },
        isForGuests: row['cifs_guestok'] === true,
      })),
      ...nfs.flatMap((row) =>
        listIn(row['nfs_paths']).map((path) => ({
          ...{ protocol: 'NFS' as const, name: '', folder: textIn(path), isForGuests: false },
        })),
      ),
    ],
    services: { cifs: serviceOf('cifs'), nfs: serviceOf('nfs') },
    scheduled: tasks.map((row) => textIn(row['task_filesystem'])),
    hostname: textIn(rowsIn([network])[0]?.['gc_hostname']),
  };
}

/** Whether the step has nothing left that must be done. */
export function isDone(stage: StageName, now: FirstHour): boolean {
  switch (stage) {
    case 'password':
      return now.root === undefined;
    case 'pool':
      return now.pools.length > 0;
    case 'dataset':
      return now.datasets.length > 0;
    case 'account':
      return now.accounts.length > 0;
    case 'share':
      return now.shares.length > 0;
    case 'snapshots':
      return now.scheduled.length > 0;
    case 'address':
      return false;
  }
}

/** The first step that is left; the address once all are done. */
export const firstLeft = (now: FirstHour): StageName =>
  stages.find(({ name }) => !isDone(name, now))?.name ?? 'address';

export function after(stage: StageName): StageName {
  const index = stages.findIndex(({ name }) => name === stage);
  return stages[index + 1]?.name ?? 'address';
}

/**
 * The name by which clients reach the appliance: that of the address bar, unless the browser runs on the appliance or comes
 * through a tunnel.
 */
export function hostFor(bar: string, hostname: string): string {
  const isLocal = bar === 'localhost' || bar === '[::1]' || bar.startsWith('127.');
  return isLocal && hostname !== '' ? hostname : bar;
}

/** What a person types on a client of each system. */
export function addressesOf(
  { protocol, name, folder }: Shared,
  host: string,
  account: string,
): readonly { readonly system: string; readonly where: string; readonly text: string }[] {
  if (protocol === 'NFS')
    return [
      { system: t.windows, where: t.aTerminalWithTheNFSClient, text: `mount ${host}:${folder} Z:` },
      { system: 'macOS', where: t.finderGoConnectToServer, text: `nfs://${host}${folder}` },
      { system: t.linux, where: t.aTerminalAsRoot, text: `mount -t nfs ${host}:${folder} /mnt` },
    ];
  // Windows has a notation of its own for addresses with colons.
  const windows = host.startsWith('[') ? `${host.slice(1, -1).replaceAll(':', '-')}.ipv6-literal.net` : host;
  const url = `smb://${host}/${encodeURIComponent(name)}`;
  return [
    { system: t.windows, where: t.explorerAddressLine, text: `\\\\${windows}\\${name}` },
    { system: 'macOS', where: t.finderGoConnectToServer, text: url },
    { system: t.linux, where: t.fileManagerAddressLine, text: url },
    {
      system: t.linux,
      where: t.aTerminal,
      text: `smbclient '//${host}/${name}'${account === '' ? ' -N' : ` -U ${account}`}`,
    },
  ];
}
