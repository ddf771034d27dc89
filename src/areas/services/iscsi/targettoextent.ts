import { integer, nullable, reference, required, titled } from '../../../engine/declare/fields.ts';
import { collection, type View } from '../../../engine/declare/resource.ts';
import { iscsiSettings } from './globalconfiguration.ts';
import { nameOnWire } from './names.ts';
import { mustBeUnused } from './sessions.ts';
import { iscsiTarget } from './target.ts';

/** The highest LUN that every target engine and most initiators support. */
const highestLun = 1023;

export const iscsiTargetToExtent = collection('services/iscsi/targettoextent', {
  shortName: 'iscsi/lun',
  title: 'iSCSI association',
  description: 'Makes an extent available at a target under a LUN.',
  binned: true,
  order: ['iscsi_target', 'iscsi_lunid'],
  // Releases of a hypervisor plugin remove an extent and then its associations, which went with it.
  quirks: { readsRemoval: true, removedTwice: true },
  unique: [
    { fields: ['iscsi_target', 'iscsi_extent'], description: 'Extent is already in this target.' },
    { fields: ['iscsi_lunid', 'iscsi_target'], description: 'LUN ID is already being used for this target.' },
  ],
  fields: {
    iscsi_target: required(reference('services/iscsi/target', { description: 'Target.', onRemove: 'remove' })),
    iscsi_extent: required(reference('services/iscsi/extent', { description: 'Extent.', onRemove: 'remove' })),
    iscsi_lunid: titled(
      'LUN',
      nullable(integer({ description: 'LUN; the lowest free number unless sent.', min: 0, max: highestLun })),
    ),
  },
  complete({ record: { id, iscsi_target, iscsi_lunid }, view, facts }) {
    if (iscsi_lunid !== null) return {};
    return { iscsi_lunid: nextLun({ association: id, target: iscsi_target }, view, facts.targets.firstLun) };
  },
  onRemove({ draft, record, sent }) {
    const target = draft.get(iscsiTarget, record.iscsi_target);
    if (target !== undefined)
      mustBeUnused(draft.plan, nameOnWire(target.iscsi_target_name, draft.only(iscsiSettings).iscsi_basename), sent);
  },
});

/** The lowest LUN that is free at the target, starting with the first one that the target engine supports. */
function nextLun({ association, target }: { association: number; target: number }, view: View, first: number): number {
  const taken = new Set(
    view
      .having(iscsiTargetToExtent, 'iscsi_target', target)
      .filter(({ id }) => id !== association)
      .map(({ iscsi_lunid }) => iscsi_lunid),
  );
  let free = first;
  while (taken.has(free)) free += 1;
  return free;
}
