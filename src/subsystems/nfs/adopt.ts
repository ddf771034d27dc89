/** Reads hand-made exports and nfs.conf: the opposite of `exports.ts` and `nfs-conf.ts`. */
import { nfsSettings } from '../../areas/services/nfs.ts';
import { nfsShare } from '../../areas/sharing/nfs.ts';
import type { Adoption, NotCarried, Origin, ProposedRecord, Reading } from '../../engine/declare/proposal.ts';
import { carriedPath } from '../../engine/facts/carried-path.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { datasetOf } from '../../engine/facts/places.ts';
import { isWithin } from '../../lib/path.ts';
import { iniOf } from '../ini.ts';

const exportsFile = '/etc/exports';
const exportsFolder = '/etc/exports.d/';

export const nfsAdoption: Adoption = {
  files: [exportsFile, `${exportsFolder}*`, '/etc/nfs.conf', '/etc/nfs.conf.d/*'],
  read({ files, facts }) {
    const notCarried: NotCarried[] = [];
    const entries = [...files]
      .filter(
        ([path]) => path === exportsFile || (isWithin(path, exportsFolder.slice(0, -1)) && /\.exports$/.test(path)),
      )
      .flatMap(([path, content]) => entriesOf(path, content, notCarried));
    const settings = settingsOf([...files].filter(([path]) => path.startsWith('/etc/nfs.conf')));
    const isForAnyPort = entries.some(({ options }) => options.includes('insecure'));
    return {
      records: [
        ...settings.records.map((record) => ({
          ...record,
          values: { ...record.values, ...(isForAnyPort && { nfs_srv_allow_nonroot: true }) },
        })),
        ...sharesOf(entries, facts, notCarried),
      ],
      notCarried: [...notCarried, ...settings.notCarried],
    };
  },
};

/** One client of one path, with its options. */
interface Entry extends Origin {
  readonly text: string;
  readonly path: string;
  readonly client: string;
  readonly options: readonly string[];
}

function entriesOf(file: string, content: string, notCarried: NotCarried[]): readonly Entry[] {
  return logicalLines(content).flatMap(({ line, text }): readonly Entry[] => {
    const match = /^(?:"([^"]*)"|(\S+))\s*(.*)$/.exec(text);
    const path = unescaped(match?.[1] ?? match?.[2] ?? '').replace(/(.)\/$/, '$1');
    const clients = (match?.[3] ?? '').split(/\s+/).filter((one) => one !== '');
    const general = clients.filter((one) => one.startsWith('-')).flatMap((one) => one.slice(1).split(','));
    const named = clients.filter((one) => !one.startsWith('-'));
    return (named.length === 0 ? ['*'] : named).flatMap((one) => {
      const [, client = '', own = ''] = /^([^()]*)(?:\(([^)]*)\))?$/.exec(one) ?? [];
      const options = [...general, ...own.split(',')].map((option) => option.trim()).filter((option) => option !== '');
      const entry = { file, line, text, path, client: client === '' ? '*' : client, options };
      if (!client.startsWith('@')) return [entry];
      notCarried.push(
        lost(entry, `Holdfast has no netgroups, such as ${client}.`, 'List its hosts or networks in hosts or network.'),
      );
      return [];
    });
  });
}

/** Options without a field: those that change nothing are absent here. */
const otherOptions: readonly { readonly names: RegExp; readonly reason: string; readonly toDo: string }[] = [
  {
    names: /^async$/,
    reason: 'Holdfast exports with sync: the server answers a write when it is stored.',
    toDo: 'Nothing. Where speed matters more, set sync of the dataset to disabled.',
  },
  {
    names: /^fsid=(?:0|root)$/,
    reason: 'The folder is the root of NFSv4 (fsid=0), so NFSv4 clients mount paths below it without its own.',
    toDo: 'Change the clients to the whole path, such as SERVER:/mnt/tank/media.',
  },
  {
    names: /^fsid=/,
    reason: 'The server gives each dataset an identity of its own.',
    toDo: 'Mount again on the clients.',
  },
  {
    names: /^(?:crossmnt|nohide)$/,
    reason: 'Datasets below the folder are exported by shares of their own.',
    toDo: 'Create a share for each dataset below it that clients use.',
  },
  { names: /^subtree_check$/, reason: 'Holdfast exports with no_subtree_check.', toDo: 'Nothing.' },
  {
    names:
      /^(?:mp|mountpoint|refer|replicas|pnfs|xprtsec|insecure_locks|no_auth_nlm|no_acl|no_wdelay|security_label)\b/,
    reason: 'Holdfast has no field for this option.',
    toDo: 'Do without it, or keep the line in /etc/exports by hand: the kernel exports both.',
  },
];

function sharesOf(entries: readonly Entry[], facts: Facts, notCarried: NotCarried[]): readonly ProposedRecord[] {
  const shares: { holder: string; access: string; clients: Set<string>; paths: string[]; record: ProposedRecord }[] =
    [];
  const byPath = Map.groupBy(entries, ({ path, options }) => JSON.stringify([path, accessOf(options, facts)]));
  for (const same of byPath.values()) {
    const [first] = same;
    if (first === undefined) continue;
    const place = carriedPath(first.path, facts.storage);
    if (place === undefined) {
      notCarried.push(
        lost(
          first,
          `${first.path} is on no dataset of a pool.`,
          'Create a dataset, move the folder to it, and create the share with its path.',
        ),
      );
      continue;
    }
    if (place.toDo !== undefined)
      notCarried.push(
        lost(
          first,
          `Holdfast has its datasets below /mnt, so the file has ${place.path}.`,
          `Before the file is applied, run: ${place.toDo}. Clients then mount ${place.path}.`,
        ),
      );
    for (const option of new Set(same.flatMap(({ options }) => options))) {
      const other = otherOptions.find(({ names }) => names.test(option));
      if (other !== undefined)
        notCarried.push(lost({ ...first, text: `${first.path}: ${option}` }, other.reason, other.toDo));
    }
    const clients = new Set(same.map(({ client }) => networkText(client)));
    const holder = datasetOf(place.path, facts.storage) ?? place.path;
    const access = JSON.stringify([accessOf(first.options, facts), [...clients].toSorted()]);
    const mate = shares.find((share) => share.holder === holder && share.access === access);
    if (mate !== undefined) {
      mate.paths.push(place.path);
      continue;
    }
    const rival = shares.find(
      (share) => share.holder === holder && ([...clients].some((one) => share.clients.has(one)) || clients.has('*')),
    );
    if (rival !== undefined) {
      notCarried.push(
        lost(
          first,
          `The dataset ${holder} is exported to the same clients with other options already.`,
          'Give the folder a dataset of its own, and create the share for it.',
        ),
      );
      continue;
    }
    const paths = [place.path];
    const { file, line } = first;
    const values = { nfs_paths: paths, ...clientsOf(clients), ...accessOf(first.options, facts) };
    shares.push({ holder, access, clients, paths, record: { resource: nfsShare.path, file, line, values } });
  }
  return shares.map(({ record }) => record);
}

function clientsOf(clients: ReadonlySet<string>) {
  const named = [...clients].filter((one) => one !== '*');
  // With a star among them, all clients may mount.
  if (clients.has('*')) return {};
  const networks = named.filter((one) => one.includes('/'));
  const hosts = named.filter((one) => !one.includes('/'));
  return {
    ...(networks.length > 0 && { nfs_network: networks.join(' ') }),
    ...(hosts.length > 0 && { nfs_hosts: hosts.join(' ') }),
  };
}

/** `192.0.2.0/255.255.255.0` as `192.0.2.0/24`. */
function networkText(client: string): string {
  const [, address = '', mask = ''] = /^([\d.]+)\/([\d.]+\.[\d.]+)$/.exec(client) ?? [];
  if (mask === '') return client;
  const bits = mask.split('.').map((part) => Number(part).toString(2).padStart(8, '0'));
  return `${address}/${bits.join('').replace(/0+$/, '').length}`;
}

function accessOf(options: readonly string[], { accounts }: Facts) {
  const has = (name: string) => options.lastIndexOf(name);
  const number = (name: string) => {
    const text = options.findLast((option) => option.startsWith(`${name}=`))?.slice(name.length + 1);
    return text === undefined ? undefined : Number(text);
  };
  const [uid, gid] = [number('anonuid'), number('anongid')];
  const user = accounts.users.find((one) => one.uid === (uid ?? 65534));
  const group = gid === undefined || gid === user?.gid ? undefined : accounts.groups.find((one) => one.gid === gid);
  const isAll = has('all_squash') > has('no_all_squash');
  const isNone = !isAll && has('no_root_squash') > has('root_squash');
  const security =
    options
      .findLast((option) => option.startsWith('sec='))
      ?.slice(4)
      .split(':') ?? [];
  const isNamed = uid !== undefined || gid !== undefined;
  return {
    ...(has('rw') > has('ro') ? {} : { nfs_ro: true }),
    ...(isNone ? { nfs_maproot_user: 'root' } : {}),
    ...(isAll ? { nfs_mapall_user: user?.name ?? 'nobody', ...(group && { nfs_mapall_group: group.name }) } : {}),
    ...(!isAll && !isNone && isNamed && user !== undefined
      ? { nfs_maproot_user: user.name, ...(group && { nfs_maproot_group: group.name }) }
      : {}),
    ...(security.length > 0 && security.join() !== 'sys' ? { nfs_security: security } : {}),
  };
}

/** The lines of exports(5) without comments; a backslash at the end continues a line. */
function logicalLines(content: string): readonly { readonly line: number; readonly text: string }[] {
  const found: { line: number; text: string }[] = [];
  let begun: { line: number; text: string } | undefined;
  for (const [index, raw] of content.split('\n').entries()) {
    const part = raw.replace(/\\$/, '').replace(/(^|\s)#.*$/, '');
    begun = begun === undefined ? { line: index + 1, text: part } : { ...begun, text: `${begun.text} ${part}` };
    if (raw.endsWith('\\')) continue;
    if (begun.text.trim() !== '') found.push({ line: begun.line, text: begun.text.trim() });
    begun = undefined;
  }
  return found;
}

/** Octal bytes, which may be parts of a character. */
function unescaped(path: string): string {
  return path.replace(/(?:\\[0-7]{3})+/g, (octals) =>
    Buffer.from(
      octals
        .slice(1)
        .split('\\')
        .map((octal) => Number.parseInt(octal, 8)),
    ).toString('utf8'),
  );
}

// nfs.conf -----------------------------------------------------------------------------------------------------------

const yes = (value: string) => /^(?:1|y|yes|true|on|t)$/i.test(value);
const integerTo = (wire: string) => (value: string) => (/^\d+$/.test(value) ? { [wire]: Number(value) } : undefined);

const settings: Readonly<Record<string, (value: string) => Readonly<Record<string, unknown>> | undefined>> = {
  'nfsd threads': integerTo('nfs_srv_servers'),
  'nfsd host': (value) => ({ nfs_srv_bindip: value.split(',') }),
  'nfsd udp': (value) => ({ nfs_srv_udp: yes(value) }),
  'nfsd vers4': (value) => ({ nfs_srv_v4: yes(value) }),
  'nfsd tcp': (value) => (yes(value) ? {} : undefined),
  'nfsd vers3': (value) => (yes(value) ? {} : undefined),
  'mountd port': integerTo('nfs_srv_mountd_port'),
  'mountd manage-gids': (value) => ({ nfs_srv_16: yes(value) }),
  'mountd debug': (value) => ({ nfs_srv_mountd_log: value === 'auth' || value === 'all' }),
  'statd port': integerTo('nfs_srv_rpcstatd_port'),
  'lockd port': integerTo('nfs_srv_rpclockd_port'),
  'lockd udp-port': () => ({}),
};

function settingsOf(files: readonly (readonly [string, string])[]): Reading {
  const lines = files.flatMap(([file, content]) => iniOf(file, content));
  // What Debian's server does unless the file says otherwise.
  const values: Record<string, unknown> = { nfs_srv_servers: 16, nfs_srv_v4: true, nfs_srv_mountd_log: false };
  const notCarried: NotCarried[] = [];
  for (const line of lines) {
    const converted = settings[`${line.section} ${line.name}`]?.(line.value);
    if (converted === undefined) notCarried.push(lost(line, 'Holdfast has no field for it.', 'Do without it.'));
    else Object.assign(values, converted);
  }
  const [{ file, line } = { file: '/etc/nfs.conf', line: 0 }] = lines;
  // By default, the kernel sends owners as numbers.
  if (values['nfs_srv_v4'] === true && values['nfs_srv_16'] !== true) values['nfs_srv_v4_v3owner'] = true;
  else if (values['nfs_srv_v4'] === true) {
    const origin = lines.find(({ name }) => name === 'manage-gids') ?? { file, line, text: 'manage-gids' };
    const reason = 'With it, Holdfast names owners to clients of NFSv4, where the kernel sent numbers.';
    const toDo =
      'Set v4_v3owner in place of 16 if clients do not know the names, or belong to another domain of NFSv4.';
    notCarried.push({ ...lost(origin, reason, toDo), within: line });
  }
  return { records: [{ resource: nfsSettings.path, file, line, values }], notCarried };
}

const lost = ({ file, line, text }: Origin & { readonly text: string }, reason: string, toDo: string): NotCarried => ({
  ...{ file, line, text, reason, toDo },
});
