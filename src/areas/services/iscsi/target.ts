import { nullable, refine, required, text } from '../../../engine/declare/fields.ts';
import { collection } from '../../../engine/declare/resource.ts';
import { iscsiSettings } from './globalconfiguration.ts';
import { isTooLong, nameOnWire } from './names.ts';
import { mustBeUnused } from './sessions.ts';

export const iscsiTarget = collection('services/iscsi/target', {
  title: 'iSCSI target',
  description: 'A name that initiators connect to. Target groups say who may, associations what is found there.',
  order: ['iscsi_target_name'],
  quirks: { readsRemoval: true },
  unique: [
    { fields: ['iscsi_target_name'], description: 'Target name already exists.' },
    { fields: ['iscsi_target_alias'], description: 'Target alias already exists.' },
  ],
  fields: {
    iscsi_target_name: required(
      refine(
        text({
          description:
            'Name of the target, kept as it was sent. The base name is put in front of one that does not begin with iqn., eui. or naa. only for initiators.',
          max: 120,
          pattern: /^[-a-z0-9.:]+$/,
          rule: 'A target name has lower case letters, digits and - . : only.',
        }),
        (name) => (isTooLong(name) ? 'Behind a base name, the name may have at most 102 characters.' : undefined),
      ),
    ),
    iscsi_target_alias: nullable(
      refine(
        text({
          description: 'Another name, for people.',
          max: 120,
          pattern: /^[^"]+$/,
          rule: 'An alias has no double quotes.',
        }),
        (alias) => (alias.toLowerCase() === 'target' ? 'target is a word that is kept for other purposes.' : undefined),
      ),
    ),
  },
  check({ record, view, issues }) {
    const { iscsi_basename } = view.only(iscsiSettings);
    const name = nameOnWire(record.iscsi_target_name, iscsi_basename);
    // Spelt out and short, a name is the same to initiators.
    const [, short] = name.split(`${iscsi_basename}:`);
    const twins = [
      view.find(iscsiTarget, 'iscsi_target_name', name),
      short === undefined ? undefined : view.find(iscsiTarget, 'iscsi_target_name', short),
    ];
    const twin = twins.find(
      (one) => one !== undefined && one.id !== record.id && one.iscsi_target_name !== record.iscsi_target_name,
    );
    if (twin !== undefined)
      issues.add(
        'iscsi_target_name',
        `Target name already exists: to initiators it is the same as ${twin.iscsi_target_name}.`,
      );
  },
  onRemove({ draft, record, sent }) {
    mustBeUnused(draft.plan, nameOnWire(record.iscsi_target_name, draft.only(iscsiSettings).iscsi_basename), sent);
  },
});
