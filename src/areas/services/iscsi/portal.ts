import { isIP } from 'node:net';
import {
  basic,
  choice,
  field,
  good,
  integer,
  list,
  nullable,
  readOnly,
  required,
  text,
  titled,
  wrong,
} from '../../../engine/declare/fields.ts';
import { ownAddressProblem } from '../../../engine/declare/formats.ts';
import { collection, type View } from '../../../engine/declare/resource.ts';
import { quote } from '../../../lib/text.ts';
import { authMethods, authProblem } from './authcredential.ts';

/** An address with a port, as `192.0.2.1:3260` or `[::]:3260`, kept as sent. */
const address = field<string>({
  description: 'Address and port.',
  schema: { type: 'string', maxLength: 60 },
  read(sent) {
    const portal = typeof sent === 'string' ? portalFrom(sent) : undefined;
    return portal === undefined
      ? wrong(`Expected an address with a port, as 0.0.0.0:3260 or [::]:3260, got ${quote(sent)}.`)
      : good(typeof sent === 'string' ? sent.trim() : '');
  },
});

export const iscsiPortal = collection('services/iscsi/portal', {
  shortName: 'iscsi/portal',
  title: 'iSCSI portal',
  description: 'Addresses that the targets listen on.',
  binned: true,
  order: ['iscsi_target_portal_tag'],
  fields: {
    iscsi_target_portal_ips: titled(
      'Addresses and ports',
      required(
        list(address, {
          description: 'Addresses with ports; 0.0.0.0 is every IPv4 address, :: every address.',
          max: 64,
        }),
      ),
    ),
    iscsi_target_portal_comment: text({ description: 'Comment.', max: 120 }),
    ...basic('Discovery', {
      iscsi_target_portal_discoveryauthmethod: titled(
        'Method',
        choice([...authMethods, 'Auto'], {
          description:
            'How initiators authenticate for discovery. Auto is CHAP when iscsi_target_portal_discoveryauthgroup is set.',
          initial: 'None',
        }),
      ),
      iscsi_target_portal_discoveryauthgroup: titled(
        'Credential group',
        nullable(
          integer({ description: 'Number of the group of credentials for discovery.', min: 1, max: 2 ** 31 - 1 }),
        ),
      ),
    }),
    iscsi_target_portal_tag: titled(
      'Number',
      readOnly(
        integer({
          description: 'Number of the portal. When a portal is removed, all higher numbers decrease by one.',
        }),
      ),
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
    if (ips.length === 0) issues.add('iscsi_target_portal_ips', 'Expected at least one address.');
    const taken = takenByOthers(id, view);
    for (const [index, ip] of ips.map(plain).entries()) {
      if (taken.has(ip)) issues.add('iscsi_target_portal_ips', `${ips[index]} is already used by another portal.`);
      taken.add(ip);
    }
    // An address that the portal already had is not checked again: its link may be down for a while, and that must not
    // refuse other changes.
    for (const ip of ips)
      if (before?.iscsi_target_portal_ips.includes(ip) !== true) {
        const problem = ownAddressProblem(portalFrom(ip)?.address ?? '', facts, ip);
        if (problem !== undefined) issues.add('iscsi_target_portal_ips', problem);
      }
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
function takenByOthers(id: number, view: View): Set<string> {
  return new Set(
    view.all(iscsiPortal).flatMap((other) => (other.id === id ? [] : other.iscsi_target_portal_ips.map(plain))),
  );
}

/** The address and port in a text, or undefined when the text is invalid. */
export function portalFrom(text: string): { readonly address: string; readonly port: number } | undefined {
  const [, bracketed, plainAddress, digits] = /^(?:\[([^\]]+)\]|(.+)):(\d{1,5})$/.exec(text.trim()) ?? [];
  const address = bracketed ?? plainAddress ?? '';
  const port = Number(digits);
  const family = isIP(address);
  if (port < 1 || port > 65535 || family === 0 || (bracketed !== undefined && family !== 6) || address.includes('%'))
    return undefined;
  return { address, port };
}

function plain(text: string): string {
  const portal = portalFrom(text);
  return portal === undefined ? text : `${portal.address} ${portal.port}`;
}
