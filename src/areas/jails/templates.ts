import { failed } from '../../engine/declare/errors.ts';
import { choice, flag, integer, readOnly, refine, required, text } from '../../engine/declare/fields.ts';
import { collection, type Draft, type Operations, type RecordOf, type View } from '../../engine/declare/resource.ts';
import { mostUnpacked } from '../../host/ports/jails.ts';
import { quote } from '../../lib/text.ts';
import { createFilledDataset, createSnapshot, destroyDataset } from '../storage/steps.ts';
import { jailsPlace } from './configuration.ts';

/** What Debian makes itself, named as a file that somebody else made would be. */
const madeHere = /^debootstrap:[a-z]+$/;

const fields = {
  jt_name: required(text({ description: 'Name of the template, by which jails choose it.', max: 120 })),
  jt_os: required(
    choice(['FreeBSD', 'Linux'], { description: 'Its operating system. Jails are made of those of Linux.' }),
  ),
  jt_arch: required(choice(['x64', 'x86'], { description: 'Whether its programs are for 64 or for 32 bits.' })),
  jt_url: required(
    refine(
      text({
        description:
          'Address of its archive by http, https, ftp or file, or debootstrap: and the name of a release of Debian, which is then made here.',
        max: 255,
      }),
      (url) =>
        madeHere.test(url) || /^(https?|ftp):\/\/[^\s/]+\/\S+$/.test(url) || /^file:\/\/\/\S+$/.test(url)
          ? undefined
          : `${quote(url)} is neither an address by http, https, ftp or file nor a release of Debian, as debootstrap:trixie.`,
    ),
  ),
  jt_instances: readOnly(integer({ description: 'How many jails were made of it.', min: 0, initial: 0 })),
  // Beyond the document's list (gaps 2.4).
  jt_mtree: text({
    description: 'Address of a list of its files. Kept; the archive has a checksum beside it.',
    max: 255,
  }),
  jt_readonly: flag(false, { description: 'Whether it cannot be changed, but by a request that sends this as false.' }),
  jt_system: { ...readOnly(flag(false, { description: 'Whether it is hidden from lists; none is.' })), initial: false },
};

export type JailTemplate = RecordOf<typeof fields>;

export const jailTemplate = collection('jails/templates', {
  title: 'jail template',
  description:
    'What jails begin with: a root file system, fetched when the first jail is made of it and kept as a snapshot.',
  ofMachine: true,
  // All at once would be refused as soon as one has a jail.
  verbs: ['list', 'read', 'create', 'update', 'remove'],
  order: ['jt_name'],
  unique: [{ fields: ['jt_name'], description: 'A template with this name already exists.' }],
  fields,
  // `standard` is what a jail is made of unless it says otherwise, `pluginjail` what the document's sample names.
  seed: () =>
    ['standard', 'pluginjail'].map((jt_name) => ({
      jt_name,
      jt_os: 'Linux' as const,
      jt_arch: 'x64' as const,
      jt_url: 'debootstrap:trixie',
      jt_instances: 0,
      jt_mtree: '',
      jt_readonly: false,
      jt_system: false,
    })),
  check({ record, before, sent, issues }) {
    if (before === undefined) return;
    const changed = (['jt_name', 'jt_os', 'jt_arch', 'jt_url', 'jt_mtree'] as const).filter(
      (name) => record[name] !== before[name],
    );
    if (before.jt_readonly && sent.jt_readonly !== false && changed.length > 0)
      issues.add('__all__', `${quote(before.jt_name)} is read-only; send jt_readonly as false to change it.`);
    if (before.jt_instances > 0)
      for (const name of changed)
        if (name !== 'jt_mtree')
          issues.add(name, `Jails were made of it, ${before.jt_instances} in number, and go on being what they are.`);
  },
  onSave({ draft, record, before }) {
    if (before !== undefined && (record.jt_url !== before.jt_url || record.jt_arch !== before.jt_arch))
      forget(before, draft);
  },
  onRemove({ draft, record }) {
    if (record.jt_instances > 0)
      throw failed(
        `Jails were made of the template ${quote(record.jt_name)}, ${record.jt_instances} in number; delete them first.`,
      );
    forget(record, draft);
  },
});

/** Where a template is kept. No jail is called so, for names of jails have no dots. */
export function templateDataset({ id }: JailTemplate, view: View): string | undefined {
  const place = jailsPlace(view);
  return place && `${place.dataset}/.template-${id}`;
}

export function templateSnapshot(dataset: string): string {
  return `${dataset}@ready`;
}

/** Destroys what is kept of a template. */
function forget(record: JailTemplate, draft: Draft): void {
  const dataset = templateDataset(record, draft);
  if (dataset === undefined || !draft.facts.storage.datasets.has(dataset)) return;
  draft.plan.last(destroyDataset({ name: dataset, with: 'children', touches: [{ dataset, below: true }] }));
}

/** Fetches a template that is not there yet. Whoever wants the same one meanwhile waits for it. */
export async function keepTemplate(record: JailTemplate, operations: Operations): Promise<void> {
  const dataset = templateDataset(record, operations.world.view);
  const place = jailsPlace(operations.world.view);
  if (dataset === undefined || place === undefined) return;
  const isKept = () => operations.world.facts.storage.snapshots.find(templateSnapshot(dataset)) !== undefined;
  if (isKept()) return;
  await operations.work(`keep the jail template ${record.jt_name}`, [`jail-template:${record.id}`], async (work) => {
    if (isKept()) return;
    // Left by a daemon that ended in the middle of it.
    if (operations.world.facts.storage.datasets.has(dataset))
      await work.step(destroyDataset({ name: dataset, with: 'children', touches: [{ dataset, below: true }] }));
    await work.step(createFilledDataset({ name: dataset, most: mostUnpacked }));
    await work.step({
      title: `fill ${dataset} from ${record.jt_url}`,
      perform: ({ jails }) =>
        jails.furnish(
          `${place.folder}/.template-${record.id}`,
          { url: record.jt_url, arch: record.jt_arch },
          { progress: (sentence) => work.progress(sentence) },
        ),
    });
    const [, name = ''] = templateSnapshot(dataset).split('@');
    await work.step(createSnapshot({ dataset, name, scope: 'one' }));
  });
}
