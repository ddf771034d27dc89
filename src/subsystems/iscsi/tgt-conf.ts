/** Reads the configuration files of tgt-admin. */
import type { NotCarried, Origin } from '../../engine/declare/proposal.ts';
import { lastElement } from '../../lib/path.ts';
import {
  type FoundAccount,
  type FoundExtent,
  type FoundTarget,
  type FoundTargets,
  type Lack,
  lost,
} from './found-targets.ts';

interface Line extends Origin {
  readonly name: string;
  readonly value: string;
}

/** A store of a target, with the lines of its section. */
interface Store extends Line {
  readonly lines: readonly Line[];
}

interface Section extends Origin {
  readonly target: string;
  readonly lines: readonly Line[];
  readonly stores: readonly Store[];
}

const own: Lack = { reason: 'Holdfast has no field for it.', toDo: 'Do without it.' };

/** Lines that say what Holdfast does too, or that belong to the tool. */
const silent =
  /^(?:include|default-driver|driver|control-port|ignore-errors|allow-in-use|controller_tid|write-cache|bs-type|online)$/;

export function tgtTargets(files: readonly (readonly [string, string])[]): FoundTargets {
  const notCarried: NotCarried[] = [];
  const global: Line[] = [];
  const targets = files
    .flatMap(([file, content]) => sectionsOf(file, content, global))
    .map((section) => targetOf(section, notCarried));
  const users = global.filter(({ name }) => name === 'incomingdiscoveryuser');
  const peer = global.find(({ name }) => name === 'outgoingdiscoveryuser');
  const servers = global.filter(({ name }) => name.startsWith('isns'));
  for (const line of servers)
    notCarried.push(
      lost(line, `${line.name} ${line.value}`, {
        reason: 'Where the kernel offers the targets, they are not registered with iSNS.',
        toDo: 'Set isns_servers of iscsi where tgt is used.',
      }),
    );
  for (const line of global)
    if (!silent.test(line.name) && !users.includes(line) && line !== peer && !servers.includes(line))
      notCarried.push(lost(line, `${line.name} ${shown(line)}`, own));
  return { targets, discovery: accountsOf(users, peer), notCarried };
}

function sectionsOf(file: string, content: string, global: Line[]): readonly Section[] {
  const sections: { file: string; line: number; target: string; lines: Line[]; stores: Store[] }[] = [];
  let lines: Line[] = global;
  let section: (typeof sections)[number] | undefined;
  for (const [index, raw] of content.split('\n').entries()) {
    const text = raw.replace(/(?:^|\s)#.*$/, '').trim();
    const origin = { file, line: index + 1 };
    const [, opened = '', argument = ''] = /^<([\w-]+)\s+"?([^">]+)"?\s*>$/.exec(text) ?? [];
    const closed = /^<\/([\w-]+)>$/.exec(text)?.[1]?.toLowerCase();
    if (opened.toLowerCase() === 'target') {
      section = { ...origin, target: argument.trim(), lines: [], stores: [] };
      sections.push(section);
      lines = section.lines;
    } else if (opened !== '') {
      const inner: Line[] = [];
      section?.stores.push({ ...origin, name: opened.toLowerCase(), value: argument.trim(), lines: inner });
      lines = inner;
    } else if (closed === 'target') {
      section = undefined;
      lines = global;
    } else if (closed !== undefined) lines = section?.lines ?? global;
    else if (text !== '') {
      const [, name = '', value = ''] = /^([\w-]+)\s*=?\s*(.*)$/.exec(text) ?? [];
      const line = { ...origin, name: name.toLowerCase(), value: value.replace(/^"(.*)"$/, '$1').trim() };
      if (/^(?:backing|direct)-store$/.test(line.name)) section?.stores.push({ ...line, lines: [] });
      else lines.push(line);
    }
  }
  return sections;
}

/** Without secrets. */
const shown = ({ name, value }: Line) => (name.endsWith('user') ? (value.split(/\s+/)[0] ?? '') : value);

function accountsOf(incoming: readonly Line[], outgoing: Line | undefined): readonly FoundAccount[] {
  const pair = ({ value }: Line) => {
    const [user = '', secret = ''] = value.split(/\s+/);
    return { user, secret };
  };
  const peer = outgoing === undefined ? undefined : pair(outgoing);
  return incoming.map((line) => ({ ...pair(line), peer }));
}

/** What applies to a store, and else to the whole target. */
const storeLines =
  /^(?:scsi_sn|scsi_id|vendor_id|product_id|product_rev|readonly|block-size|sense_format|removable|lbppbe|la_lba|optimal_xfer_gran|optimal_xfer_len|device-type|rpm)$/;

function targetOf(section: Section, notCarried: NotCarried[]): FoundTarget {
  const { file, line, target: name, lines, stores } = section;
  const origin: Origin = { file, line };
  const say = (at: Line, lack: Lack) =>
    notCarried.push(lost(at, `target ${name}: ${at.name} ${shown(at)}`, lack, origin));
  const all = (wanted: string) => lines.filter((one) => one.name === wanted);
  notCarried.push(
    lost(origin, `target ${name}`, {
      reason: 'tgt offers it by this file whenever it starts, and the NAA identifiers of its disks are others.',
      toDo: 'Log out on the initiators, apply the file, remove these lines, and log in again.',
    }),
  );
  for (const one of lines)
    if (
      !silent.test(one.name) &&
      !storeLines.test(one.name) &&
      !/^(?:incominguser|outgoinguser|initiator-(?:name|address))$/.test(one.name)
    )
      say(one, own);
  let next = 1;
  const luns = stores.flatMap((store) => {
    const number = Number(store.lines.find((one) => one.name === 'lun')?.value ?? next);
    next = number + 1;
    if (store.name === 'direct-store') {
      const reason = 'It passes a disk through with its own identity, which Holdfast does not.';
      say(store, { reason, toDo: 'Create an extent of the disk; initiators see another disk then.' });
      return [];
    }
    return [{ number, extent: extentOf(store, lines, say) }];
  });
  const values = (wanted: string) => all(wanted).flatMap(({ value }) => value.split(/\s+/));
  const addresses = values('initiator-address');
  const names = values('initiator-name');
  const accounts = accountsOf(all('incominguser'), all('outgoinguser')[0]);
  return {
    ...{ file, line, name, luns, alias: undefined },
    groups: [
      {
        ...origin,
        ...{ tag: undefined, portals: ['[::]:3260'], accounts, refusal: undefined },
        initiators: names.length === 0 ? undefined : names,
        networks: addresses.length === 0 || addresses.includes('ALL') ? undefined : addresses,
      },
    ],
  };
}

function extentOf(store: Store, shared: readonly Line[], say: (line: Line, lack: Lack) => void): FoundExtent {
  const of = (name: string) => [...store.lines, ...shared].find((line) => line.name === name);
  for (const line of [...store.lines, ...shared])
    if (/^(?:scsi_id|vendor_id|product_id|product_rev)$/.test(line.name))
      say(line, {
        reason: 'Holdfast chooses how a disk identifies itself, but for its serial number.',
        toDo: 'Nothing.',
      });
    else if (
      !silent.test(line.name) &&
      !/^(?:scsi_sn|readonly|block-size|lun|incominguser|outgoinguser|initiator-\w+)$/.test(line.name)
    )
      if (store.lines.includes(line) || storeLines.test(line.name)) say(line, own);
  const [serial, readOnly, block] = [of('scsi_sn'), of('readonly'), of('block-size')];
  const isLong = (serial?.value.length ?? 0) > 16;
  if (serial !== undefined && isLong)
    say(serial, { reason: 'A serial number has at most 16 characters in Holdfast.', toDo: 'Nothing.' });
  return {
    ...{
      file: store.file,
      line: store.line,
      path: store.value,
      isReadOnly: /^(?:1|yes|on)$/.test(readOnly?.value ?? ''),
    },
    name: lastElement(store.value),
    values: {
      ...(serial !== undefined && !isLong && { iscsi_target_extent_serial: serial.value }),
      ...(block !== undefined && { iscsi_target_extent_blocksize: Number(block.value) }),
    },
  };
}
