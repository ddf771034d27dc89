import { isIP } from 'node:net';
import { alsoNamed, integer, nullable, refine, text, titled } from '../../../engine/declare/fields.ts';
import { collection, type View } from '../../../engine/declare/resource.ts';
import { quote } from '../../../lib/text.ts';
import { entriesOf } from './names.ts';

export const iscsiInitiators = collection('services/iscsi/authorizedinitiator', {
  shortName: 'iscsi/initiator',
  title: 'group of iSCSI initiators',
  description: 'Initiators that may connect, by name and by network.',
  binned: true,
  order: ['iscsi_target_initiator_tag'],
  unique: [{ fields: ['iscsi_target_initiator_tag'], description: 'Another group of initiators has this number.' }],
  fields: {
    iscsi_target_initiator_initiators: refine(
      text({
        description: 'Names of initiators, separated by spaces, line breaks or commas, or ALL.',
        max: 8192,
        initial: 'ALL',
        multiline: true,
      }),
      (value) => {
        const invalid = entriesOf(value).find((entry) => entry !== 'ALL' && !/^[-A-Za-z0-9._:]{1,223}$/.test(entry));
        return invalid === undefined
          ? undefined
          : `Expected initiator names of letters, digits and - . _ : only, got ${quote(invalid)}.`;
      },
    ),
    iscsi_target_initiator_auth_network: titled(
      'Networks',
      refine(
        text({
          description: 'Addresses and networks of initiators, separated by spaces, line breaks or commas, or ALL.',
          max: 8192,
          initial: 'ALL',
          multiline: true,
        }),
        (value) => {
          const invalid = entriesOf(value).find((entry) => entry !== 'ALL' && !isNetwork(entry));
          return invalid === undefined
            ? undefined
            : `Expected an address or a network, as 192.0.2.7 or 192.0.2.0/24, got ${quote(invalid)}.`;
        },
      ),
    ),
    iscsi_target_initiator_comment: alsoNamed(
      text({ description: 'Comment.', max: 120 }),
      'scsi_target_initiator_comment',
    ),
    iscsi_target_initiator_tag: titled(
      'Number',
      nullable(
        integer({
          description: 'Number of the group. When a group is removed, all higher numbers decrease by one.',
          min: 1,
          max: 2 ** 31 - 1,
        }),
      ),
    ),
  },
  complete: ({ record, view }) => ({ iscsi_target_initiator_tag: record.iscsi_target_initiator_tag ?? nextTag(view) }),
  onRemove({ draft, record }) {
    const removed = record.iscsi_target_initiator_tag ?? 0;
    // Numbers are unique, so the number of the removed group must be free before the next group takes it.
    draft.update(iscsiInitiators, record.id, {}, { iscsi_target_initiator_tag: -1 });
    for (const { id, iscsi_target_initiator_tag: tag } of [...draft.all(iscsiInitiators)]) {
      if (tag !== null && tag > removed) draft.update(iscsiInitiators, id, { iscsi_target_initiator_tag: tag - 1 });
    }
  },
});

/** The first free number above the number of groups (gaps 7.3). */
function nextTag(view: View): number {
  const taken = new Set(view.all(iscsiInitiators).map((group) => group.iscsi_target_initiator_tag));
  let free = taken.size + 1;
  while (taken.has(free)) free += 1;
  return free;
}

/** The entries of a list, or undefined when it includes every initiator. */
export function namedIn(list: string): readonly string[] | undefined {
  const named = entriesOf(list);
  return named.length === 0 || named.includes('ALL') ? undefined : named;
}

function isNetwork(entry: string): boolean {
  const [, address = '', prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
  const family = isIP(address);
  return family !== 0 && (prefix === undefined || Number(prefix) <= (family === 4 ? 32 : 128));
}
