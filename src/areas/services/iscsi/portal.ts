import { BlockList, isIP } from 'node:net';
import {
  choice,
  field,
  good,
  integer,
  list,
  nullable,
  readOnly,
  required,
  text,
  wrong,
} from '../../../engine/declare/fields.ts';
import { collection, type View } from '../../../engine/declare/resource.ts';
import type { Facts } from '../../../engine/upkeep/facts.ts';
import { quote, sentenceList } from '../../../lib/text.ts';
import { authMethods, authProblem } from './authcredential.ts';

/** `192.0.2.1:3260`, `[::]:3260`; kept as sent but for an IPv6 address without brackets. */
const address = field<string>({
  description: 'Address and port.',
  schema: { type: 'string', maxLength: 60 },
  read(sent) {
    const portal = typeof sent === 'string' ? portalFrom(sent) : undefined;
    return portal === undefined
      ? wrong(`${quote(sent)} is no address with a port: write 0.0.0.0:3260 or [::]:3260.`)
      : good(typeof sent === 'string' ? sent.trim() : '');
  },
});

export const iscsiPortal = collection('services/iscsi/portal', {
  title: 'iSCSI portal',
  description: 'Addresses at which targets can be reached.',
  order: ['iscsi_target_portal_tag'],
  fields: {
    iscsi_target_portal_ips: required(
      list(address, { description: 'Addresses with ports; 0.0.0.0 and :: are all the machine has.', max: 64 }),
    ),
    iscsi_target_portal_comment: text({ description: 'What the portal is for.', max: 120 }),
    iscsi_target_portal_discoveryauthmethod: choice([...authMethods, 'Auto'], {
      description:
        'How initiators that ask what targets there are show who they are. Auto is CHAP when a group of credentials is named.',
      initial: 'None',
    }),
    iscsi_target_portal_discoveryauthgroup: nullable(
      integer({ description: 'Number of the group of credentials for that.', min: 1, max: 65535 }),
    ),
    iscsi_target_portal_tag: readOnly(
      integer({
        description: 'Number of the portal in the list. When one goes, those with higher numbers move down by one.',
      }),
    ),
  },
  complete: ({ record, before, view }) => ({
    iscsi_target_portal_tag: record.iscsi_target_portal_tag ?? before?.iscsi_target_portal_tag ?? countOf(view) + 1,
  }),
  check({ record, before, view, facts, issues }) {
    const {
      id,
      iscsi_target_portal_ips: ips,
      iscsi_target_portal_discoveryauthmethod: method,
      iscsi_target_portal_discoveryauthgroup: group,
    } = record;
    if (ips.length === 0) issues.add('iscsi_target_portal_ips', 'A portal has at least one address.');
    const taken = takenBesides(id, view);
    for (const [index, ip] of ips.map(plain).entries()) {
      if (taken.has(ip)) issues.add('iscsi_target_portal_ips', `${ips[index]} is already used by another portal.`);
      taken.add(ip);
    }
    // What it had stays: a link that is down for a while is no reason to refuse another change.
    for (const ip of ips)
      if (before?.iscsi_target_portal_ips.includes(ip) !== true && !isOwn(ip, facts))
        issues.add('iscsi_target_portal_ips', strange(ip, facts));
    const problem = authProblem(method === 'Auto' ? 'None' : method, group, view);
    if (problem !== undefined) issues.add('iscsi_target_portal_discoveryauthgroup', problem);
  },
  onRemove({ draft, record }) {
    for (const { id, iscsi_target_portal_tag: tag } of [...draft.all(iscsiPortal)]) {
      if (tag > record.iscsi_target_portal_tag) draft.update(iscsiPortal, id, {}, { iscsi_target_portal_tag: tag - 1 });
    }
  },
});

function countOf(view: View): number {
  return view.all(iscsiPortal).length;
}

/** The addresses of all other portals. */
function takenBesides(id: number, view: View): Set<string> {
  return new Set(
    view.all(iscsiPortal).flatMap((other) => (other.id === id ? [] : other.iscsi_target_portal_ips.map(plain))),
  );
}

/** The address and port that a text names, or undefined when it names none. */
export function portalFrom(text: string): { readonly address: string; readonly port: number } | undefined {
  const [, bracketed, plainAddress, digits] = /^(?:\[([^\]]+)\]|(.+)):(\d{1,5})$/.exec(text.trim()) ?? [];
  const address = bracketed ?? plainAddress ?? '';
  const port = Number(digits);
  const family = isIP(address);
  if (port < 1 || port > 65535 || family === 0 || (bracketed !== undefined && family !== 6) || address.includes('%'))
    return undefined;
  return { address, port };
}

/** Whether it is an address of this machine, or stands for all of them. */
function isOwn(text: string, { network }: Facts): boolean {
  const address = portalFrom(text)?.address;
  if (address === undefined || ['0.0.0.0', '::', '::1'].includes(address) || address.startsWith('127.')) return true;
  const own = new BlockList();
  for (const one of ownAddresses(network)) own.addAddress(one, familyOf(one));
  return own.check(address, familyOf(address));
}

function strange(text: string, { network }: Facts): string {
  const own = ownAddresses(network);
  return `${text} has no address of this machine, which has ${sentenceList([...own, '0.0.0.0 and :: for all'])}.`;
}

function ownAddresses({ links }: Facts['network']): readonly string[] {
  return links.flatMap(({ addresses }) => addresses.map((address) => address.split('/')[0] ?? ''));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

function plain(text: string): string {
  const portal = portalFrom(text);
  return portal === undefined ? text : `${portal.address} ${portal.port}`;
}
