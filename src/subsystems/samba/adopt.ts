/** Reads a hand-made smb.conf: the opposite of `smb-conf.ts`. */
import { cifsSettings } from '../../areas/services/cifs.ts';
import { cifsShare } from '../../areas/sharing/cifs.ts';
import { vfsModules } from '../../areas/sharing/vfs.vocabulary.ts';
import type { Adoption, NotCarried, Origin, ProposedRecord, Reading } from '../../engine/declare/proposal.ts';
import { carriedPath } from '../../engine/facts/carried-path.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { wordJoiner } from '../../lib/macros.ts';
import { words } from '../../lib/text.ts';
import { smbConfFile, smbPasswordFile } from './paths.ts';
import { includedBy, isYes, type Parameter, type Section, type SmbConf, smbConfOf } from './smb-conf-lines.ts';
import { netbiosNameOf } from './start-file.ts';

export const sambaAdoption: Adoption = {
  files: [smbConfFile],
  also: (files) => [...files.values()].flatMap(includedBy),
  // It also knows what is in the registry of Samba.
  programs: [['testparm', '-s', smbConfFile]],
  read({ files, outputs, facts }) {
    if (!files.has(smbConfFile)) return { records: [], notCarried: [] };
    const conf = completed(
      smbConfOf(smbConfFile, (path) => files.get(path)),
      outputs.get('testparm'),
    );
    const global = conf.sections.find(({ name }) => name.toLowerCase() === 'global');
    const shares = conf.sections.filter((section) => section !== global);
    const readings = [
      globalReading(global?.parameters ?? new Map(), { file: smbConfFile, line: global?.line ?? 0 }, facts),
      ...shares.map((section) => shareReading(section, facts)),
    ];
    return {
      records: readings.flatMap(({ records }) => records),
      notCarried: [
        ...conf.unread.map((one) =>
          lost(one, 'The file depends on the client, or could not be read.', 'Add its lines to the share or settings.'),
        ),
        ...readings.flatMap(({ notCarried }) => notCarried),
      ],
    };
  },
};

/** What testparm has and the files do not, such as shares of the registry. Its lines have no number. */
function completed(conf: SmbConf, printed: string | undefined): SmbConf {
  if (printed === undefined) return conf;
  const known = new Set(conf.sections.map(({ name }) => name.toLowerCase()));
  const more = smbConfOf('', () => printed)
    .sections.filter(({ name }) => !known.has(name.toLowerCase()))
    .map((section) => ({ ...section, file: 'testparm -s', line: 0 }));
  return { ...conf, sections: [...conf.sections, ...more] };
}

type Values = Readonly<Record<string, unknown>>;

/** What a parameter becomes: values of fields, or undefined for a line that is kept as it is. */
type Convert = (value: string) => Values | undefined;

const flagTo =
  (wire: string, when = true): Convert =>
  (value) => ({ [wire]: isYes(value) === when });
const textTo =
  (wire: string): Convert =>
  (value) =>
    /%(?=[A-Za-z$({])/.test(value) ? undefined : { [wire]: value.replaceAll(wordJoiner, '') };
const choiceTo =
  (wire: string, field: { readonly read: (sent: unknown) => { readonly ok: boolean } }, value = upper): Convert =>
  (given) =>
    field.read(value(given)).ok ? { [wire]: value(given) } : undefined;
const upper = (value: string) => value.toUpperCase();

// [global] -----------------------------------------------------------------------------------------------------------

const { fields } = cifsSettings;

const globals: Readonly<Record<string, Convert>> = {
  'netbios name': (value) => ({ cifs_srv_netbiosname: value }),
  'netbios aliases': (value) => (words(value).length === 1 ? { cifs_srv_netbiosalias: value } : undefined),
  workgroup: (value) => ({ cifs_srv_workgroup: value }),
  'server string': textTo('cifs_srv_description'),
  'dos charset': choiceTo('cifs_srv_doscharset', fields.cifs_srv_doscharset),
  'unix charset': (value) => {
    const reading = fields.cifs_srv_unixcharset.read(value);
    return reading.ok ? { cifs_srv_unixcharset: reading.value } : undefined;
  },
  'server min protocol': (value) =>
    upper(value) === 'NT1'
      ? { cifs_srv_enable_smb1: true }
      : choiceTo('cifs_srv_min_protocol', fields.cifs_srv_min_protocol)(value),
  'server max protocol': choiceTo('cifs_srv_max_protocol', fields.cifs_srv_max_protocol),
  'ntlm auth': (value) =>
    /^(?:ntlmv1-permitted|yes|true)$/i.test(value)
      ? { cifs_srv_ntlmv1_auth: true }
      : /^(?:ntlmv2-only|no|false)$/i.test(value)
        ? { cifs_srv_ntlmv1_auth: false }
        : undefined,
  'obey pam restrictions': flagTo('cifs_srv_obey_pam_restrictions'),
  'guest account': (value) => ({ cifs_srv_guest: value }),
  'admin users': (value) => {
    const group = /^"?[+@&]([^",]+)"?$/.exec(value)?.[1];
    return group === undefined ? undefined : { cifs_srv_admin_group: group };
  },
  'null passwords': flagTo('cifs_srv_nullpw'),
  'domain logons': flagTo('cifs_srv_domain_logons'),
  'local master': flagTo('cifs_srv_localmaster'),
  'time server': flagTo('cifs_srv_timeserver'),
  'multicast dns register': flagTo('cifs_srv_zeroconf'),
  'hostname lookups': flagTo('cifs_srv_hostlookup'),
  'unix extensions': flagTo('cifs_srv_unixext'),
  'acl allow execute always': flagTo('cifs_srv_allow_execute_always'),
  'create mask': (value) => ({ cifs_srv_filemask: value }),
  'directory mask': (value) => ({ cifs_srv_dirmask: value }),
  'log level': (value) =>
    /^\d+$/.test(value) ? { cifs_srv_loglevel: nearestLevel(Number(value)) } : { cifs_srv_loglevel: '1' },
};

/** What Samba does without a line, where Holdfast would do something else, by the name of the machine. */
const sambaDefaults = (hostname: string): Readonly<Record<string, string>> => ({
  'netbios name': netbiosNameOf(hostname),
  'dos charset': 'CP850',
  'map to guest': 'never',
  'obey pam restrictions': 'no',
  'local master': 'yes',
  'hostname lookups': 'no',
  'acl allow execute always': 'no',
  'create mask': '0744',
  'directory mask': '0755',
});

/** Parameters that Holdfast writes itself, by the values that mean the same. */
const written: Readonly<Record<string, RegExp>> = {
  'passdb backend': new RegExp(`^(?:tdbsam(?::.*)?|smbpasswd:${smbPasswordFile})$`),
  'map to guest': /^bad user$/i,
  security: /^(?:user|auto)$/i,
  'server role': /^(?:auto|standalone( server)?)$/i,
  'bind interfaces only': /^/,
  interfaces: /^/,
  'aio read size': /^/,
  'aio write size': /^/,
  'domain logons': /^$/,
  'idmap config * : backend': /^tdb$/,
  'idmap config * : range': /^90000001-100000000$/,
  'load printers': /^no$/i,
  'disable spoolss': /^yes$/i,
  'printcap name': /^\/dev\/null$/,
  printing: /^(?:bsd|cups)$/i,
  'encrypt passwords': /^yes$/i,
};

/** Parameters that are not lines for Holdfast, and why. */
const refused: readonly { readonly names: RegExp; readonly reason: string; readonly toDo: string }[] = [
  {
    names: /^(?:unix password sync|passwd program|passwd chat|pam password change)$/,
    reason: 'Users change their passwords by Holdfast, which sets those of Samba and of the machine.',
    toDo: 'Nothing.',
  },
  {
    names: /^(?:log file|max log size|logging|syslog|syslog only|panic action)$/,
    reason: 'Holdfast decides where Samba logs.',
    toDo: 'Nothing; service/smb has loglevel and syslog.',
  },
  {
    names: /^(?:load printers|printing|printcap name|cups .*|disable spoolss|print command|lpq .*|lprm .*)$/,
    reason: 'Holdfast serves no printers.',
    toDo: 'Keep a print server on another machine.',
  },
  {
    names: /^(?:security|realm|server role|kerberos method|winbind .*|idmap .*|domain master|template .*|ldap .*)$/,
    reason: 'Membership of a domain, and directories, are settings of their own.',
    toDo: 'Set directory/ad or directory/ldap after the file was applied.',
  },
  {
    names: /^(?:passdb backend|smb passwd file|username map.*|private dir)$/,
    reason: 'Holdfast keeps the Samba passwords of its users itself.',
    toDo: 'Make the users in Holdfast; see docs/adopt.md.',
  },
  {
    names: /^(?:config backend|config file|registry shares|include)$/,
    reason: 'Holdfast has the whole configuration.',
    toDo: 'Nothing: what testparm shows of the registry is carried.',
  },
];

function globalReading(
  parameters: ReadonlyMap<string, Parameter>,
  origin: Origin,
  { network: { hostname } }: Facts,
): Reading {
  // Without a line, Samba describes itself.
  const values: Record<string, unknown> = { cifs_srv_description: '' };
  const notCarried: NotCarried[] = [];
  const further: string[] = [];
  for (const [name, value] of Object.entries(sambaDefaults(hostname))) {
    if (parameters.has(name)) continue;
    const converted = globals[name]?.(value);
    if (converted === undefined) further.push(`${name} = ${value}`);
    else Object.assign(values, converted);
  }
  for (const parameter of parameters.values()) {
    const { name, value } = parameter;
    const converted = globals[name]?.(value);
    const refusal = refused.find(({ names }) => names.test(name));
    if (converted !== undefined) Object.assign(values, converted);
    else if (written[name]?.test(value) === true) continue;
    else if (refusal !== undefined) notCarried.push(lost(parameter, refusal.reason, refusal.toDo));
    else if (name === 'server string')
      notCarried.push(lost(parameter, 'A macro is not expanded in the description.', 'Write the text without macros.'));
    else further.push(`${name} = ${value}`);
  }
  const addresses = addressesOf(parameters, notCarried);
  return {
    records: [
      {
        resource: cifsSettings.path,
        ...origin,
        values: {
          ...values,
          ...aioOf(parameters),
          ...(addresses.length > 0 && { cifs_srv_bindip: addresses }),
          ...(further.length > 0 && { cifs_srv_smb_options: further.join('\n') }),
        },
      },
    ],
    notCarried: notCarried.map((one) => ({ ...one, within: origin.line })),
  };
}

/** The addresses that Samba listens on, without the loopback, which Holdfast adds. */
function addressesOf(parameters: ReadonlyMap<string, Parameter>, notCarried: NotCarried[]): readonly string[] {
  const interfaces = parameters.get('interfaces');
  if (interfaces === undefined || !isYes(parameters.get('bind interfaces only')?.value ?? 'no')) return [];
  const given = words(interfaces.value).filter((one) => !/^(?:lo|127\..*|::1.*)$/.test(one));
  const addresses = given.filter((one) => /^[\d.]+$|:/.test(one));
  if (addresses.length === given.length) return addresses;
  notCarried.push(
    lost(interfaces, 'Holdfast binds services to addresses, not to names of interfaces.', 'Set bindip of service/smb.'),
  );
  return [];
}

function aioOf(parameters: ReadonlyMap<string, Parameter>): Values {
  const [read, write] = ['aio read size', 'aio write size'].map((name) => Number(parameters.get(name)?.value ?? '1'));
  return read === 0 && write === 0
    ? { cifs_srv_aio_enable: false }
    : { cifs_srv_aio_enable: true, cifs_srv_aio_rs: read, cifs_srv_aio_ws: write };
}

const nearestLevel = (level: number) => (level > 3 ? '10' : String(level));

// Shares -------------------------------------------------------------------------------------------------------------

const inShare: Readonly<Record<string, Convert>> = {
  comment: textTo('cifs_comment'),
  'read only': flagTo('cifs_ro'),
  browseable: flagTo('cifs_browsable'),
  'guest ok': flagTo('cifs_guestok'),
  'guest only': flagTo('cifs_guestonly'),
  'hosts allow': (value) => hostsTo('cifs_hostsallow', value),
  'hosts deny': (value) => hostsTo('cifs_hostsdeny', value),
  'hide dot files': flagTo('cifs_showhiddenfiles', false),
  'fruit:time machine': flagTo('cifs_timemachine'),
};

/** Words such as EXCEPT are no hosts, so their line stays as it is. */
function hostsTo(wire: string, value: string): Values | undefined {
  return /\bexcept\b|@|%/i.test(value) ? undefined : { [wire]: words(value).join(' ') };
}

/** What Holdfast writes for a module, and what Samba does without the line. */
const ofModules: Readonly<
  Record<string, Readonly<Record<string, readonly [ours: string, usual: string | undefined]>>>
> = {
  recycle: {
    'recycle:repository': ['.recycle', '.recycle'],
    'recycle:keeptree': ['yes', 'no'],
    'recycle:versions': ['yes', 'no'],
    'recycle:touch': ['yes', 'no'],
    'recycle:directory_mode': ['0777', undefined],
    'recycle:subdir_mode': ['0777', undefined],
  },
  shadow_copy2: {
    'shadow:snapdir': ['.zfs/snapshot', '.snapshots'],
    'shadow:localtime': ['yes', 'no'],
    'shadow:sort': ['desc', undefined],
  },
};
const macValues: Readonly<Record<string, string>> = {
  'fruit:metadata': 'stream',
  'durable handles': 'yes',
  'kernel oplocks': 'no',
  'kernel share modes': 'no',
  'posix locking': 'no',
};

const printers = /^(?:printers|print\$)$/i;

function shareReading({ name, file, line, parameters }: Section, facts: Facts): Reading {
  const header: Parameter = { name, value: '', file, line, text: `[${name}]` };
  const refuse = (reason: string, toDo: string): Reading => ({ records: [], notCarried: [lost(header, reason, toDo)] });
  const given = (parameter: string) => parameters.get(parameter)?.value;
  if (printers.test(name) || isYes(given('printable') ?? 'no'))
    return refuse('Holdfast serves no printers.', 'Keep a print server on another machine.');
  if (given('available') !== undefined && !isYes(given('available') ?? ''))
    return refuse('The share is switched off (available = no).', 'Create it when it is needed.');
  if (parameters.has('copy'))
    return refuse(`The share copies another one (copy = ${given('copy')}).`, 'Create it with the values of both.');
  const isHome = name.toLowerCase() === 'homes';
  const written = given('path')?.replace(/\/\.$/, '');
  const folder = isHome ? /^(.+)\/%[US]$/.exec(written ?? '')?.[1] : written;
  if (folder === undefined || folder === '')
    return isHome
      ? refuse(
          'It shares the home folders of the accounts, which are not below one folder of a dataset.',
          'Create a dataset for them, move them there, and share it with home set.',
        )
      : refuse('The share has no path.', 'Create it with a path.');
  const place = carriedPath(folder, facts.storage);
  if (place === undefined)
    return refuse(
      `${folder} is on no dataset of a pool.`,
      'Create a dataset, move the folder to it, and create the share with its path.',
    );
  const notCarried: NotCarried[] = [];
  if (place.toDo !== undefined)
    notCarried.push({ ...movedPath(parameters.get('path') ?? header, place.path, place.toDo), within: line });
  return { records: [shareRecord(name, header, parameters, place.path)], notCarried };
}

function shareRecord(
  name: string,
  { file, line }: Parameter,
  parameters: ReadonlyMap<string, Parameter>,
  path: string,
): ProposedRecord {
  const isHome = name.toLowerCase() === 'homes';
  const has = (one: string, value: string) => parameters.get(one)?.value.toLowerCase() === value.toLowerCase();
  const modules = words(parameters.get('vfs objects')?.value ?? '').map((one) => one.split(':')[0] ?? '');
  const known: readonly string[] = vfsModules;
  const written = modules.flatMap((module) => Object.entries(ofModules[module] ?? {}));
  const hasBin =
    modules.includes('recycle') && Object.entries(ofModules['recycle'] ?? {}).every(([one, [ours]]) => has(one, ours));
  const isForMacs = isYes(parameters.get('fruit:time machine')?.value ?? 'no');
  const isEnumerated = has('access based share enum', 'yes') && has('hide unreadable', 'yes');
  const skipped = new Set([
    'path',
    ...(modules.every((one) => known.includes(one)) ? ['vfs objects'] : []),
    ...written.flatMap(([one, [ours]]) => (has(one, ours) ? [one] : [])),
    ...(isForMacs ? Object.entries(macValues).flatMap(([one, value]) => (has(one, value) ? [one] : [])) : []),
    ...(isEnumerated || (!isOn('access based share enum') && !isOn('hide unreadable'))
      ? ['access based share enum', 'hide unreadable']
      : []),
    ...(isHome
      ? ['root preexec', ...(/^%[US]$/.test(parameters.get('valid users')?.value ?? '') ? ['valid users'] : [])]
      : []),
  ]);
  function isOn(one: string): boolean {
    return isYes(parameters.get(one)?.value ?? 'no');
  }
  const values: Record<string, unknown> = {
    // Without a line, Samba shares read-only.
    cifs_ro: true,
    cifs_name: name,
    cifs_path: path,
    cifs_home: isHome,
    cifs_abe: isEnumerated,
    cifs_recyclebin: hasBin,
    cifs_vfsobjects: skipped.has('vfs objects') ? modules.filter((one) => !(hasBin && one === 'recycle')) : [],
  };
  const further: string[] = [];
  for (const { name: one, value } of parameters.values()) {
    if (skipped.has(one)) continue;
    const converted = inShare[one]?.(value);
    if (converted === undefined) further.push(`${one} = ${value}`);
    else Object.assign(values, converted);
  }
  for (const [one, [ours, usual]] of written)
    if (usual !== undefined && usual !== ours && !parameters.has(one)) further.push(`${one} = ${usual}`);
  if (isHome) values['cifs_browsable'] = true;
  if (further.length > 0) values['cifs_auxsmbconf'] = further.join('\n');
  return { resource: cifsShare.path, file, line, values };
}

const lost = ({ file, line, text }: Parameter, reason: string, toDo: string): NotCarried => ({
  ...{ file, line, text, reason, toDo },
});

const movedPath = (parameter: Parameter, path: string, command: string) =>
  lost(
    parameter,
    `Holdfast has its datasets below /mnt, so the file has ${path}.`,
    `Before the file is applied, run: ${command}`,
  );
