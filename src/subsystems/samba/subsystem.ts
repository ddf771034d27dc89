import { domainSettings } from '../../areas/directoryservice/activedirectory.ts';
import { authorityOf, isMember } from '../../areas/directoryservice/domain-access.ts';
import { idmapCollections } from '../../areas/directoryservice/idmap.ts';
import { ldapSettings, serverOf, servesSamba } from '../../areas/directoryservice/ldap.ts';
import { cifsSettings } from '../../areas/services/cifs.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { cifsShare, unsayableInPath } from '../../areas/sharing/cifs.ts';
import { snapshotFormat } from '../../areas/storage/snapshot-times.ts';
import { snapshotTask } from '../../areas/storage/task.ts';
import { certificateAuthority } from '../../areas/system/certificateauthority.ts';
import { volumesFolder } from '../../engine/declare/formats.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import type { Storage } from '../../engine/facts/storage-facts.ts';
import { lines, quote } from '../../lib/text.ts';
import { hasNoAccounts } from '../local.ts';
import {
  directoryOptions,
  directoryPasswordFile,
  directoryPasswordName,
  directoryPasswordUnit,
  passwordOf,
  smbdDropIn,
} from './directory-passwords.ts';
import { domainAuthorityFile, memberOptions, winbindDropIn } from './domain-conf.ts';
import { monitorName, monitorUnit } from './monitor.ts';
import { sharesFile, sharesPrefix, smbConfFile } from './paths.ts';
import { announcedAtStart, globalSection, optionLines, readAtStart, shareSection } from './smb-conf.ts';
import { testparm } from './testparm.ts';

export const sambaSubsystem: Subsystem = {
  name: 'samba',
  description: 'Samba serves the CIFS shares, as a domain member if the machine has joined a domain.',
  reads: [
    cifsShare,
    cifsSettings,
    serviceSwitch,
    snapshotTask,
    domainSettings,
    ldapSettings,
    certificateAuthority,
    ...Object.values(idmapCollections),
  ],
  services: ['winbind', directoryPasswordName, 'smbd', 'nmbd', monitorName],
  // Debian's smb.conf shares home folders, so a Samba with accounts counts as in use.
  local: [
    { path: '/var/lib/samba/private/passdb.tdb', isDefault: hasNoAccounts },
    { path: '/etc/systemd/system/smbd.service.d/*' },
    { path: '/etc/systemd/system/nmbd.service.d/*' },
  ],
  uses: ['storage', 'membership'],
  // smbd reads the certificate authority that the subsystem `directory` writes.
  after: ['accounts', 'directory', 'kerberos'],
  render(view, { storage, membership }) {
    const settings = view.only(cifsSettings);
    const domain = view.only(domainSettings);
    const joined = isMember(domain, { membership });
    const member = joined ? memberOptions(domain, view) : [];
    const ldap = view.only(ldapSettings);
    const directory = servesSamba(ldap) ? serverOf(ldap, view) : undefined;
    const passwords = directory === undefined ? undefined : directoryOptions(ldap, directory);
    const password = directory === undefined ? undefined : passwordOf(directory);
    const head = globalSection(settings, {
      member,
      ...(passwords === undefined ? {} : { passwords }),
      verbose: joined && domain.ad_verbose_logging,
    });
    const { groups, omissions } = sharesIn(
      view.groups(cifsShare),
      storage,
      new Map(view.all(snapshotTask).map((task) => [task.id, snapshotFormat(task)])),
    );
    const running = isOn(view, 'cifs');
    const atStart = readAtStart(settings, member);
    const monitor = monitorUnit(domain);
    const authority = joined ? authorityOf(domain, view) : undefined;
    return {
      files: [
        { path: domainAuthorityFile, content: authority },
        {
          path: '/etc/systemd/system/winbind.service.d/holdfast.conf',
          content: joined ? winbindDropIn : undefined,
          forServiceManager: true,
        },
        { path: `/etc/systemd/system/${monitorName}.service`, content: monitor, forServiceManager: true },
        { path: directoryPasswordFile, mode: 0o600, content: password },
        {
          path: `/etc/systemd/system/${directoryPasswordName}.service`,
          content: directoryPasswordUnit,
          forServiceManager: true,
        },
        {
          path: '/etc/systemd/system/smbd.service.d/holdfast.conf',
          content: directory?.authority === undefined ? undefined : smbdDropIn,
          forServiceManager: true,
        },
        ...groups.map(({ path, content }) => ({ path, content })),
        { path: smbConfFile, content: [head, ...groups.map(({ path }) => `include = ${path}\n`)].join('') },
      ],
      owns: [sharesPrefix],
      checks: [{ path: smbConfFile, head, parts: groups.map(({ sections }) => sections), verify: testparm }],
      services: [
        // winbind comes first, because smbd looks up accounts there.
        { name: 'winbind', running: joined, onChange: 'reload', readAtStart: [atStart, authority ?? ''].join('\n') },
        {
          name: directoryPasswordName,
          running: running && directory !== undefined,
          onChange: 'nothing',
          readAtStart: password ?? '',
        },
        {
          name: 'smbd',
          running,
          onChange: 'reload',
          readAtStart: lines(atStart, optionLines(passwords ?? []), directory?.authority, password),
        },
        { name: 'nmbd', running, onChange: 'reload', readAtStart: atStart + announcedAtStart(settings) },
        { name: monitorName, running: joined && domain.ad_enable_monitor, onChange: 'nothing', readAtStart: monitor },
      ],
      omissions:
        domain.ad_enable && !joined
          ? [...omissions, `Active Directory: the machine is not a member of the domain ${domain.ad_domainname}`]
          : omissions,
    };
  },
};

type Share = RecordOf<typeof cifsShare.fields>;

/** A rendered group of shares. Without a share that can be served, `sections` is empty and the file is not written. */
interface Group {
  readonly path: string;
  readonly sections: readonly string[];
  readonly content: string;
  readonly omissions: readonly string[];
}

interface Shares {
  readonly groups: readonly Group[];
  readonly omissions: readonly string[];
}

/** The time format in the snapshot names of each periodic snapshot task, by the id of the task. */
type Formats = ReadonlyMap<number, string>;

export function sharesIn(
  shares: ReadonlyMap<number, readonly Share[]>,
  storage: Storage,
  formats: Formats = new Map(),
): Shares {
  const groups = [...shares]
    .sort(([a], [b]) => a - b)
    .map(([number, group]) => groupOf(number, group, storage, formats));
  return {
    groups: groups.filter(({ sections }) => sections.length > 0),
    omissions: groups.flatMap(({ omissions }) => omissions),
  };
}

/**
 * Caches each rendered group with the volumes and snapshot tasks that it was rendered for, as there can be thousands of
 * shares.
 */
const rendered = new WeakMap<readonly Share[], { readonly dependencies: string; readonly group: Group }>();

function groupOf(number: number, shares: readonly Share[], storage: Storage, formats: Formats): Group {
  const volumes = [...storage.pools.keys()].map((pool) => `${pool}${isMounted(pool, storage) ? '' : '-'}`).join();
  const dependencies = [volumes, ...formats].join('\n');
  const cached = rendered.get(shares);
  if (cached?.dependencies === dependencies) return cached.group;
  const omissions = new Map(shares.map((share) => [share, omission(share, storage)]));
  const sections = shares
    .filter((share) => omissions.get(share) === undefined)
    .map((share) => sectionOf(share, formats.get(share.cifs_storage_task ?? 0)));
  const group = {
    path: sharesFile(number),
    sections,
    content: sections.join(''),
    omissions: [...omissions.values()].filter((reason) => reason !== undefined),
  };
  rendered.set(shares, { dependencies, group });
  return group;
}

/** The reason why a share cannot be served now, or undefined. */
function omission({ cifs_name, cifs_path }: Share, storage: Storage): string | undefined {
  const refusedText = unsayableInPath(cifs_path);
  if (refusedText !== undefined)
    return `CIFS share ${quote(cifs_name)}: its path contains ${quote(refusedText)}, which Samba does not take literally`;
  const [volume = ''] = cifs_path.slice(volumesFolder.length + 1).split('/');
  if (isMounted(volume, storage)) return undefined;
  return `CIFS share ${quote(cifs_name)}: the volume ${volume} is ${storage.pools.has(volume) ? 'not mounted' : 'missing'}`;
}

function isMounted(pool: string, { pools, datasets }: Storage): boolean {
  return pools.has(pool) && datasets.get(pool)?.mountpoint !== undefined;
}

/** Caches the section of each share, which depends only on its record and its snapshot task. */
const sections = new WeakMap<Share, { readonly format: string | undefined; readonly section: string }>();

function sectionOf(share: Share, format: string | undefined): string {
  const cached = sections.get(share);
  if (cached !== undefined && cached.format === format) return cached.section;
  const section = shareSection(share, format);
  sections.set(share, { format, section });
  return section;
}
