import { nullable, refine, required, text, titled } from '../../../engine/declare/fields.ts';
import { collection } from '../../../engine/declare/resource.ts';
import { iscsiSettings } from './globalconfiguration.ts';
import { isTooLong, lowerCase, nameOnWire } from './names.ts';
import { mustBeUnused } from './sessions.ts';

export const iscsiTarget = collection('services/iscsi/target', {
  shortName: 'iscsi/target',
  title: 'iSCSI target',
  description: 'A name that initiators connect to. Target groups control access, associations assign extents.',
  binned: true,
  order: ['iscsi_target_name'],
  quirks: { readsRemoval: true },
  unique: [
    { fields: ['iscsi_target_name'], description: 'Target name already exists.' },
    { fields: ['iscsi_target_alias'], description: 'Target alias already exists.' },
  ],
  fields: {
    iscsi_target_name: titled(
      'Name',
      required(
        refine(
          lowerCase({
            description:
              'Name of the target. Upper case becomes lower case, which iSCSI requires. A name that does not begin with iqn., eui. or naa. is prefixed with the base name for initiators.',
            max: 120,
            pattern: /^[-a-z0-9.:]+$/,
            rule: 'Expected lower case letters, digits and - . : only.',
          }),
          (name) =>
            isTooLong(name)
              ? 'Expected at most 102 characters, or a full name that begins with iqn., eui. or naa.'
              : undefined,
        ),
      ),
    ),
    iscsi_target_alias: titled(
      'Alias',
      nullable(
        refine(
          text({
            description: 'Alternative name for display.',
            max: 120,
            pattern: /^[^"]+$/,
            rule: 'Expected an alias without double quotes.',
          }),
          (alias) => (alias.toLowerCase() === 'target' ? 'The alias "target" is reserved.' : undefined),
        ),
      ),
    ),
  },
  check({ record, view, issues }) {
    const { iscsi_basename } = view.only(iscsiSettings);
    const name = nameOnWire(record.iscsi_target_name, iscsi_basename);
    // The short name and the full name are the same name for initiators.
    const [, short] = name.split(`${iscsi_basename}:`);
    const candidates = [
      view.find(iscsiTarget, 'iscsi_target_name', name),
      short === undefined ? undefined : view.find(iscsiTarget, 'iscsi_target_name', short),
    ];
    const duplicate = candidates.find(
      (other) => other !== undefined && other.id !== record.id && other.iscsi_target_name !== record.iscsi_target_name,
    );
    if (duplicate !== undefined)
      issues.add(
        'iscsi_target_name',
        `Target name already exists: initiators see ${duplicate.iscsi_target_name} under the same full name.`,
      );
  },
  onRemove({ draft, record, sent }) {
    mustBeUnused(draft.plan, nameOnWire(record.iscsi_target_name, draft.only(iscsiSettings).iscsi_basename), sent);
  },
});
