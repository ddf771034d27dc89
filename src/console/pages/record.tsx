import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { addressOf, entryOf, type Form, formOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { capital } from '../base/format.ts';
import { isSame, type Row, rowIn, textIn } from '../base/json.ts';
import { touch, useLive } from '../base/live.ts';
import { notifyChange } from '../base/notices.ts';
import { type Refusal, refusalOf } from '../base/problem.ts';
import { go, link, type Place } from '../base/route.ts';
import { type Asked, asCommand, openBody } from '../parts/asking.ts';
import { Waiting } from '../parts/common.tsx';
import { Fields } from '../parts/form.tsx';
import { type Job, Working } from '../parts/job.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Preview, planOf, type Step } from '../parts/preview.tsx';
import { RecordCommands, RecordProblems } from '../parts/record-parts.tsx';
import { Refused } from '../parts/refused.tsx';
import { initialValues } from '../parts/values.ts';
import { plural } from '../texts/base/format.ts';
import * as t from '../texts/pages/record.ts';

/** A record or the settings of a resource: the form, what it will do, and what else can be done with it. */
export default function RecordPage({ place: { words, entry } }: { place: Place }) {
  const path = words.get('of') ?? '';
  const form = useLive(`form ${path}`, [], () => formOf(path));
  if (form.value === undefined)
    return <Waiting refused={form.refused ?? (form.at > 0 ? t.thereIsNoResource(path) : undefined)} what={t.theForm} />;
  const one = form.value;
  const key = words.get('key') ?? '';
  const isNew = words.has('new');
  // A list has no record to show before one is chosen.
  if (one.kind === 'records' && !isNew && key === '') {
    go(link(entry, 'list', { of: path }));
    return null;
  }
  if (isNew && path === 'storage/volume' && !words.has('by')) {
    // In place of this address: the way back must not lead here again.
    location.replace(link('storage', 'new-pool'));
    return null;
  }
  return <Loaded form={one} recordKey={key} isNew={isNew} words={words} />;
}

interface RecordProps {
  readonly form: Form;
  readonly recordKey: string;
  readonly isNew: boolean;
  readonly words: URLSearchParams;
}

interface Kept {
  readonly record: Row;
  readonly etag: string | undefined;
}

function Loaded({ form, recordKey, isNew, words }: RecordProps) {
  const address = addressOf(form.path, recordKey);
  const topics = isNew ? [] : [`record:${form.path}`, ...(form.owner === 'machine' ? ['machine'] : [])];
  const read = useLive<Kept | undefined>(`record ${address} ${isNew}`, topics, async () => {
    if (isNew) return undefined;
    const { body, headers } = await client.exchange('GET', address);
    return { record: rowIn(body), etag: headers.get('etag') ?? undefined };
  });
  if (!isNew && read.value === undefined) return <Waiting refused={read.refused} what={t.the(form.title)} />;
  return <Editor {...{ form, recordKey, isNew, words }} kept={read.value} />;
}

/** Fields whose values the address gives, such as `set.cifs_path`. */
function givenIn(words: URLSearchParams): Row {
  return Object.fromEntries(
    [...words].filter(([name]) => name.startsWith('set.')).map(([name, value]) => [name.slice(4), value]),
  );
}

function Editor({ form, recordKey, isNew, words, kept: newest }: RecordProps & { kept: Kept | undefined }) {
  const changes = useSignal<Row>(isNew ? givenIn(words) : {});
  const begun = useSignal(newest);
  const refusal = useSignal<Refusal | undefined>(undefined);
  const preview = useSignal<{ readonly steps: readonly Step[]; readonly of: string } | undefined>(undefined);
  const progress = useSignal('');
  const job = useSignal<Job | undefined>(undefined);
  const isTouched = Object.keys(changes.value).length > 0;
  // What somebody edits stays what they saw; otherwise the form follows the record.
  useEffect(() => {
    if (!isTouched) begun.value = newest;
  }, [newest, isTouched, begun]);
  useFocusOn(words.get('field'));

  const fields = form.fields.filter(({ sent, create_only: once }) => sent && (isNew || !once));
  const base = begun.value;
  const values = { ...initialValues(fields, base?.record), ...changes.value };
  const isBehind = !isNew && isTouched && base !== undefined && newest !== undefined && base.etag !== newest.etag;
  const asked: Asked = {
    method: isNew ? 'POST' : 'PUT',
    address: addressOf(form.path, recordKey),
    body: changes.value,
    etag: base?.etag,
  };
  const set = (wire: string, value: unknown) => {
    const before = isNew ? undefined : base?.record[wire];
    const { [wire]: _, ...others } = changes.value;
    changes.value = value === undefined || (!isNew && isSame(value, before)) ? others : { ...others, [wire]: value };
  };
  const look = async () => {
    refusal.value = undefined;
    try {
      preview.value = { steps: await planOf(asked), of: JSON.stringify(changes.value) };
    } catch (error) {
      preview.value = undefined;
      refusal.value = refusalOf(error);
    }
  };
  const save = async () => {
    refusal.value = undefined;
    progress.value = t.saving;
    try {
      const { body, headers } = await client.exchange(asked.method, asked.address, {
        body: asked.body,
        ...(asked.etag !== undefined && { headers: { 'if-match': asked.etag } }),
        progress: (now) => (job.value = now),
      });
      const name = nameOf(form, rowIn(body)) || recordKey;
      changes.value = {};
      preview.value = undefined;
      touch(`record:${form.path}`, 'revisions', 'machine');
      await notifyChange(`${isNew ? t.created : t.changed}: ${form.title} ${name}`, headers);
      if (isNew) go(listOf(form));
    } catch (error) {
      refusal.value = refusalOf(error);
    } finally {
      progress.value = '';
      job.value = undefined;
    }
  };
  const title = isNew
    ? t.newIt(form.title)
    : form.kind === 'settings'
      ? capital(form.title)
      : `${capital(form.title)} ${nameOf(form, base?.record ?? {}) || recordKey}`;
  const problems = refusal.value?.fields ?? {};
  const shown = openBody(changes.value, fields);
  return (
    <>
      <PageHead
        {...(form.kind === 'records' && { up: [listOf(form), capital(plural(form.title))] })}
        title={title}
        about={isTouched ? t.draftNothingHasHappenedYet : form.description}
      />
      {!isNew && (
        <RecordProblems
          about={form.kind === 'settings' ? form.path : `${form.path}/${recordKey}`}
          subsystems={form.subsystems}
        />
      )}
      {isBehind && (
        <div class="note warn">
          <span class="grow">{t.somebodyElseHasChangedThisMeanwhile}</span>
          <button type="button" onClick={() => (begun.value = newest)}>
            {t.takeTheNewValuesKeepMine}
          </button>
        </div>
      )}
      <form
        class="cards sheet"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <section class="card" aria-label={t.fields}>
          {fields.length === 0 ? (
            <p class="soft">{t.itHasNoFieldsThatCan}</p>
          ) : (
            <Fields {...{ fields, values, problems, isNew, set }} />
          )}
          {!isNew && <State form={form} record={base?.record ?? {}} />}
        </section>
        <Preview
          {...{ asked, shown }}
          command={asCommand(
            form,
            isNew ? 'create' : 'set',
            form.kind === 'settings' ? '' : recordKey,
            changes.value,
            fields,
          )}
          steps={preview.value?.steps}
          isOld={preview.value !== undefined && preview.value.of !== JSON.stringify(changes.value)}
        >
          <Refused refusal={refusal.value} known={fields.map(({ wire }) => wire)} />
          <Working title={progress.value} job={job.value} />
          <div class="row end">
            <button type="submit" class="primary" disabled={progress.value !== '' || (!isNew && !isTouched)}>
              {t.save}
            </button>
            <button type="button" disabled={!isNew && !isTouched} onClick={() => void look()}>
              {t.preview}
            </button>
            <button type="button" disabled={!isTouched} onClick={() => (changes.value = {})}>
              {t.discard}
            </button>
            <span class="grow" />
            <span class="soft">{form.owner === 'configuration' ? t.canBeUndone : t.changesTheMachineDirectly}</span>
          </div>
        </Preview>
      </form>
      {!isNew && <RecordCommands form={form} recordKey={recordKey} />}
    </>
  );
}

/** Datasets are listed for all pools. */
const listOf = ({ path }: Form): string =>
  /\/(datasets|zvols)$/.test(path)
    ? link('storage', 'pool', { name: path.split('/')[2] ?? '' })
    : link(entryOf(path), 'list', { of: path });

export const nameOf = (form: Form, record: Row): string => textIn(record[form.name_field ?? form.key_field]);

/** Leads to the field that a search has found. */
function useFocusOn(field: string | null): void {
  useEffect(() => {
    if (field === null) return;
    const found = document.getElementById(`field-${field}`);
    found?.closest('details')?.setAttribute('open', '');
    found?.scrollIntoView({ block: 'center' });
    found?.focus();
  }, [field]);
}

/** What only the appliance sets. */
function State({ form, record }: { form: Form; record: Row }) {
  const shown = form.fields.filter(
    ({ sent, shown, wire }) => !sent && shown && typeof record[wire] !== 'object' && textIn(record[wire]) !== '',
  );
  if (shown.length === 0) return null;
  return (
    <dl class="state">
      {shown.map(({ wire, title }) => (
        <div key={wire}>
          <dt>{title}</dt>
          <dd>{textIn(record[wire])}</dd>
        </div>
      ))}
    </dl>
  );
}
