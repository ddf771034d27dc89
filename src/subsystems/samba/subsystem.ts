import { certificateAuthority } from '../../areas/certificates/certificateauthority.ts';
import { domainSettings } from '../../areas/directoryservice/activedirectory.ts';
import { authorityOf, isMember } from '../../areas/directoryservice/domain-access.ts';
import { idmapCollections } from '../../areas/directoryservice/idmap.ts';
import { ldapSettings, sambaServerOf, servesSamba } from '../../areas/directoryservice/ldap.ts';
import { cifsService, cifsSettings, servesNetbios } from '../../areas/services/cifs.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { cifsShare, unsayableInPath } from '../../areas/sharing/cifs.ts';
import { snapshotFormat } from '../../areas/storage/snapshot-times.ts';
import { snapshotTask } from '../../areas/storage/task.ts';
import type { Problem } from '../../engine/declare/problem.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { absence, mountState } from '../../engine/facts/places.ts';
import type { Storage } from '../../engine/facts/storage-facts.ts';
import { memo } from '../../lib/memo.ts';
import { lines, quote } from '../../lib/text.ts';
import { cachedRendering } from '../groups.ts';
import { hasNoAccounts } from '../local.ts';
import { sambaAdoption } from './adopt.ts';
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
import { smbdStart } from './start-file.ts';
import { testparm } from './testparm.ts';

export const sambaSubsystem: Subsystem = {
  name: 'samba',
  description: 'Samba serves the CIFS shares, as a domain member if the machine has joined a domain.',
  followsPool: true,
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
  adopts: sambaAdoption,
  uses: ['storage', 'membership'],
  // smbd reads the certificate authority that the subsystem `directory` writes.
  after: ['accounts', 'directory', 'kerberos'],
  render(view, { storage, membership }) {
    const settings = view.only(cifsSettings);
    const domain = view.only(domainSettings);
    const joined = isMember(domain, { membership });
    const member = joined ? memberOptions(domain, view) : [];
    const ldap = view.only(ldapSettings);
    const directory = servesSamba(ldap) ? sambaServerOf(ldap, view) : undefined;
    const passwords = directory === undefined ? undefined : directoryOptions(ldap, directory);
    const password = directory === undefined ? undefined : passwordOf(directory);
    const head = globalSection(settings, {
      member,
      ...(passwords === undefined ? {} : { passwords }),
      verbose: joined && domain.ad_verbose_logging,
    });
    const groups = sharesIn(
      view.groups(cifsShare),
      storage,
      new Map(view.all(snapshotTask).map((task) => [task.id, snapshotFormat(task)])),
    );
    const running = isOn(view, cifsService);
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
        {
          name: 'winbind',
          running: joined,
          onChange: 'reload',
          readAtStart: [atStart, authority ?? ''].join('\n'),
          readAtReload: head,
        },
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
          // Of a domain or directory, smbd also reads other files at its start.
          ...(joined || directory !== undefined ? {} : { startsFrom: smbdStart }),
        },
        {
          name: 'nmbd',
          beside: 'smbd',
          running: running && servesNetbios(settings),
          onChange: 'reload',
          readAtStart: atStart + announcedAtStart(settings),
          // It does not announce the shares.
          readAtReload: head,
        },
        { name: monitorName, running: joined && domain.ad_enable_monitor, onChange: 'nothing', readAtStart: monitor },
      ],
    };
  },
  problems: (view) => [...view.groups(cifsShare).values()].flatMap((shares) => unsayable(shares)),
};

type Share = RecordOf<typeof cifsShare.fields>;

/** The problems of a group of shares, which stay the same until one of them changes. */
const unsayable = memo((shares: readonly Share[]) =>
  shares.flatMap(({ id, cifs_name, cifs_path }): readonly Problem[] => {
    const refused = unsayableInPath(cifs_path);
    if (refused === undefined) return [];
    const message = `The CIFS share ${quote(cifs_name)} is not served: its path contains ${quote(refused)}, which Samba does not take literally.`;
    return [{ kind: 'not-served', about: `${cifsShare.path}/${id}`, severity: 'warning', message }];
  }),
);

/** A rendered group of shares. Without a share that can be served, `sections` is empty and the file is not written. */
interface Group {
  readonly path: string;
  readonly sections: readonly string[];
  readonly content: string;
}

/** The time format in the snapshot names of each periodic snapshot task, by the id of the task. */
type Formats = ReadonlyMap<number, string>;

export function sharesIn(
  shares: ReadonlyMap<number, readonly Share[]>,
  storage: Storage,
  formats: Formats = new Map(),
): readonly Group[] {
  const groups = groupsOf(shares, { storage, formats }, [mountState(storage), [...formats].join()]);
  return groups.flatMap(([number, { sections, content }]) =>
    sections.length === 0 ? [] : [{ path: sharesFile(number), sections, content }],
  );
}

interface Context {
  readonly storage: Storage;
  readonly formats: Formats;
}

const groupsOf = cachedRendering((shares: readonly Share[], { storage, formats }: Context) => {
  const served = shares
    .filter((share) => isServed(share, storage))
    .map((share) => [share, sectionOf(share, formats.get(share.cifs_storage_task ?? 0))] as const);
  const content = served.map(([, { text }]) => text).join('');
  let end = 0;
  const sections = served.map(([share, { format, text }]) => {
    const start = end;
    end += text.length;
    const part = content.slice(start, end);
    known.set(share, { format, text: part });
    return part;
  });
  return { sections, content };
});

function isServed({ cifs_path: path }: Share, storage: Storage): boolean {
  return unsayableInPath(path) === undefined && absence({ path }, storage) === undefined;
}

/** The section of a share, which depends only on its record and on the format of its snapshot task. */
interface Section {
  readonly format: string | undefined;
  readonly text: string;
}

/**
 * The section that each share got last, as a part of the text of its group: that text is in memory anyway, and a text for
 * each of ten thousand shares would be as much again.
 */
const known = new WeakMap<Share, Section>();

function sectionOf(share: Share, format: string | undefined): Section {
  const before = known.get(share);
  return before !== undefined && before.format === format ? before : { format, text: shareSection(share, format) };
}
