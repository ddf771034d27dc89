import { isIP } from 'node:net';
import { integer, nullable, refine, text } from '../../../engine/declare/fields.ts';
import { collection, type View } from '../../../engine/declare/resource.ts';
import { quote } from '../../../lib/text.ts';
import { blankSeparated } from './names.ts';

export const iscsiInitiators = collection('services/iscsi/authorizedinitiator', {
  title: 'group of iSCSI initiators',
  description: 'Initiators that may come in, by name and by network.',
  order: ['iscsi_target_initiator_tag'],
  unique: [{ fields: ['iscsi_target_initiator_tag'], description: 'Another group of initiators has this number.' }],
  fields: {
    iscsi_target_initiator_initiators: refine(
      text({
        description: 'Names of initiators, separated by blanks, or ALL.',
        max: 8192,
        initial: 'ALL',
        multiline: true,
      }),
      (value) => {
        const invalid = blankSeparated(value).find((word) => word !== 'ALL' && !/^[-A-Za-z0-9._:]{1,223}$/.test(word));
        return invalid === undefined
          ? undefined
          : `${quote(invalid)} is no name of an initiator: letters, digits and - . _ : only.`;
      },
    ),
    iscsi_target_initiator_auth_network: refine(
      text({
        description: 'Addresses and networks of initiators, separated by blanks, or ALL.',
        max: 8192,
        initial: 'ALL',
        multiline: true,
      }),
      (value) => {
        const invalid = blankSeparated(value).find((word) => word !== 'ALL' && !isNetwork(word));
        return invalid === undefined
          ? undefined
          : `${quote(invalid)} is no address or network: write 192.0.2.7 or 192.0.2.0/24.`;
      },
    ),
    iscsi_target_initiator_comment: text({ description: 'What the group is for.', max: 120 }),
    iscsi_target_initiator_tag: nullable(
      integer({
        description: 'Number of the group. When a group goes, those with higher numbers move down by one.',
        min: 1,
        max: 65535,
      }),
    ),
  },
  complete: ({ record, view }) => ({ iscsi_target_initiator_tag: record.iscsi_target_initiator_tag ?? nextTag(view) }),
  onRemove({ draft, record }) {
    const gone = record.iscsi_target_initiator_tag ?? 0;
    // The number that is given up must be free before the first moves down to it; the others follow in their order.
    draft.update(iscsiInitiators, record.id, {}, { iscsi_target_initiator_tag: -1 });
    for (const { id, iscsi_target_initiator_tag: tag } of [...draft.all(iscsiInitiators)]) {
      if (tag !== null && tag > gone) draft.update(iscsiInitiators, id, { iscsi_target_initiator_tag: tag - 1 });
    }
  },
});

/** From their number on the next that is free (gaps 7.3). */
function nextTag(view: View): number {
  const taken = new Set(view.all(iscsiInitiators).map((one) => one.iscsi_target_initiator_tag));
  let free = taken.size + 1;
  while (taken.has(free)) free += 1;
  return free;
}

/** The words of a list, or undefined when it names everybody. */
export function namedIn(list: string): readonly string[] | undefined {
  const named = blankSeparated(list);
  return named.length === 0 || named.includes('ALL') ? undefined : named;
}

function isNetwork(word: string): boolean {
  const [, address = '', prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(word) ?? [];
  const family = isIP(address);
  return family !== 0 && (prefix === undefined || Number(prefix) <= (family === 4 ? 32 : 128));
}
