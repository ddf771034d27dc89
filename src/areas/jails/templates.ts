import { failed } from '../../engine/declare/errors.ts';
import { choice, flag, integer, readOnly, refine, required, text, titled } from '../../engine/declare/fields.ts';
import { collection, type Draft, type Operations, type RecordOf, type View } from '../../engine/declare/resource.ts';
import { mostUnpacked } from '../../host/ports/jails.ts';
import { quote } from '../../lib/text.ts';
import { clearDataset, createFilledDataset, createSnapshot, destroyDataset } from '../storage/steps.ts';
import { jailsPlace } from './configuration.ts';
import { fillTemplate } from './steps.ts';

/** Pseudo-URL of a template that debootstrap builds on this machine, in the field for archive URLs. */
const debootstrapUrl = /^debootstrap:[a-z]+$/;

const fields = {
  jt_name: required(text({ description: 'Name of the template, as used in jail_type.', max: 120 })),
  jt_os: titled(
    'Operating system',
    required(
      choice(['FreeBSD', 'Linux'], { description: 'Operating system. Only Linux templates can be used for jails.' }),
    ),
  ),
  jt_arch: titled('Architecture', required(choice(['x64', 'x86'], { description: 'Architecture: 64 or 32 bits.' }))),
  jt_url: titled(
    'Address of the archive',
    required(
      refine(
        text({
          description:
            'URL of the archive by http, https, ftp or file, or debootstrap: and the name of a Debian release, which is then built on this machine.',
          max: 255,
        }),
        (url) =>
          debootstrapUrl.test(url) || /^(https?|ftp):\/\/[^\s/]+\/\S+$/.test(url) || /^file:\/\/\/\S+$/.test(url)
            ? undefined
            : `Expected an http, https, ftp or file URL, or a Debian release such as debootstrap:trixie, got ${quote(url)}.`,
      ),
    ),
  ),
  jt_instances: titled(
    'Jails of this template',
    readOnly(integer({ description: 'Number of jails created from the template.', min: 0, initial: 0 })),
  ),
  // Not in the document's list of fields (gaps 2.4).
  jt_mtree: titled(
    'File list',
    text({
      description: 'URL of a list of the files. Stored without effect: the archive is verified by its checksum file.',
      max: 255,
    }),
  ),
  jt_readonly: titled(
    'Read-only',
    flag(false, {
      description: 'Whether the template is read-only. A request that sends this as false can still change it.',
    }),
  ),
  jt_system: titled('Supplied with Holdfast', {
    ...readOnly(flag(false, { description: 'Whether the template is hidden from lists; always false.' })),
    initial: false,
  }),
};

export type JailTemplate = RecordOf<typeof fields>;

export const jailTemplate = collection('jails/templates', {
  shortName: 'jail/template',
  title: 'jail template',
  description:
    'The root file system of new jails, fetched when the first jail is created from it and stored as a snapshot.',
  ofMachine: true,
  // No removal of all templates: it would fail as soon as one of them has a jail.
  verbs: ['list', 'read', 'create', 'update', 'remove'],
  order: ['jt_name'],
  unique: [{ fields: ['jt_name'], description: 'A template with this name already exists.' }],
  fields,
  // `standard` is the default of jail_type; `pluginjail` appears in the sample of the document.
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
      issues.add(
        '__all__',
        `The template ${quote(before.jt_name)} is read-only. Send jt_readonly as false to change it.`,
      );
    if (before.jt_instances > 0)
      for (const name of changed)
        if (name !== 'jt_mtree')
          issues.add(name, `The template is in use: ${before.jt_instances} jails were created from it.`);
  },
  onSave({ draft, record, before }) {
    if (before !== undefined && (record.jt_url !== before.jt_url || record.jt_arch !== before.jt_arch))
      forget(before, draft);
  },
  onRemove({ draft, record }) {
    if (record.jt_instances > 0)
      throw failed(
        `The template ${quote(record.jt_name)} is in use: ${record.jt_instances} jails were created from it. Delete them first.`,
      );
    forget(record, draft);
  },
});

/** The dataset of a template. The name cannot collide with a jail, because jail names contain no dots. */
export function templateDataset({ id }: JailTemplate, view: View): string | undefined {
  const place = jailsPlace(view);
  return place && `${place.dataset}/.template-${id}`;
}

export function templateSnapshot(dataset: string): string {
  return `${dataset}@ready`;
}

/** Destroys the dataset of a template. */
function forget(record: JailTemplate, draft: Draft): void {
  const dataset = templateDataset(record, draft);
  if (dataset === undefined || !draft.facts.storage.datasets.has(dataset)) return;
  draft.plan.last(destroyDataset({ name: dataset, with: 'children' }));
}

/** Fetches a template that is not stored yet. Concurrent requests for the same template wait for it. */
export async function keepTemplate(record: JailTemplate, operations: Operations): Promise<void> {
  const dataset = templateDataset(record, operations.world.view);
  const place = jailsPlace(operations.world.view);
  if (dataset === undefined || place === undefined) return;
  const isKept = () => operations.world.facts.storage.snapshots.find(templateSnapshot(dataset)) !== undefined;
  if (isKept()) return;
  await operations.work(`fetch the jail template ${record.jt_name}`, [`jail-template:${record.id}`], async (work) => {
    if (isKept()) return;
    const [, name = ''] = templateSnapshot(dataset).split('@');
    await work.steps([
      // Left behind by a daemon that stopped while it fetched the template.
      ...(operations.world.facts.storage.datasets.has(dataset) ? [clearDataset({ name: dataset })] : []),
      createFilledDataset({ name: dataset, most: mostUnpacked }),
      fillTemplate({
        dataset,
        folder: `${place.folder}/.template-${record.id}`,
        source: { url: record.jt_url, arch: record.jt_arch },
        progress: (sentence) => work.progress(sentence),
      }),
      createSnapshot({ dataset, name, scope: 'one' }),
    ]);
  });
}
