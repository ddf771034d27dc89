import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { components } from '../../../clients/typescript/src/index.ts';
import { addressOf, type Command, entryOf, type Form, formOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { capital, count } from '../base/format.ts';
import { type Row, rowIn, rowsIn, textIn } from '../base/json.ts';
import { touch, useLive } from '../base/live.ts';
import { notify, notifyChange } from '../base/notices.ts';
import { type Refusal, refusalOf } from '../base/problem.ts';
import { go, link, type Place } from '../base/route.ts';
import { type Asked, addressIn, asCommand, openBody } from '../parts/asking.ts';
import { Pill, Scroller, TypedName, Waiting } from '../parts/common.tsx';
import { Fields } from '../parts/form.tsx';
import { type Job, Working } from '../parts/job.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Preview, planHeader, planOf, type Step, useDestroyingPlan } from '../parts/preview.tsx';
import { Refused } from '../parts/refused.tsx';
import { initialValues } from '../parts/values.ts';
import * as t from '../texts/pages/command.ts';
import { nameOf } from './record.tsx';

type Occupant = components['schemas']['Occupant'];

/** A command on a resource or a record: what it takes, what it will do, and what goes with it if it destroys. */
export default function CommandPage({ place: { words } }: { place: Place }) {
  const path = words.get('of') ?? '';
  const key = words.get('key') ?? '';
  const form = useLive(`form ${path}`, [], () => formOf(path));
  const command = form.value?.commands.find(({ verb }) => verb === words.get('verb'));
  const record = useLive<Row | undefined>(`${path} ${key}`, [`record:${path}`], async () =>
    key === '' ? undefined : rowIn(await client.request('GET', addressOf(path, key)).catch(() => undefined)),
  );
  if (form.value === undefined || record.at === 0) return <Waiting refused={form.refused} what={t.theCommand} />;
  if (command === undefined) return <p class="err">{t.thereIsNoCommandForThis(words.get('verb'))}</p>;
  return (
    <Loaded form={form.value} {...{ command }} recordKey={key} name={nameOf(form.value, record.value ?? {}) || key} />
  );
}

interface CommandProps {
  readonly form: Form;
  readonly command: Command;
  readonly recordKey: string;
  readonly name: string;
}

/** The dataset that a record of storage stands for; undefined for other records. */
function datasetOf({ path }: Form, key: string): string | undefined {
  return ['storage/volume', 'storage/dataset'].includes(path) && key !== '' ? key : undefined;
}

/** What lies on a dataset. A change of this list stops a removal that was decided by the old one. */
async function occupantsOf(dataset: string | undefined): Promise<readonly Occupant[]> {
  return dataset === undefined ? [] : client.get('/api/holdfast/v1/occupants', { query: { dataset } });
}

function Loaded({ form, command, recordKey, name }: CommandProps) {
  const changes = useSignal<Row>({});
  const refusal = useSignal<Refusal | undefined>(undefined);
  const preview = useSignal<{ readonly steps: readonly Step[]; readonly of: string } | undefined>(undefined);
  const typed = useSignal('');
  const progress = useSignal('');
  const job = useSignal<Job | undefined>(undefined);
  const interrupts = interrupting.has(form.path);
  // Without a record, what is typed is what is done.
  const word = name || form.title;
  const destroys = (command.final && !interrupts) || (command.verb === 'delete' && form.owner === 'machine');
  const dataset = datasetOf(form, name);
  const occupants = useLive(`occupants ${dataset}`, ['machine'], () => occupantsOf(destroys ? dataset : undefined));
  const fields = command.fields.filter(({ sent }) => sent);
  const sent = command.takes_list ? Object.values(changes.value)[0] : changes.value;
  const hasBody = fields.length > 0 || command.takes_list;
  const asked: Asked = {
    method: command.method === 'DELETE' ? 'DELETE' : command.method === 'PUT' ? 'PUT' : 'POST',
    address: addressIn(command, recordKey),
    body: hasBody ? sent : undefined,
    etag: undefined,
  };
  const plan = useDestroyingPlan(destroys ? asked : undefined);
  const token = plan.value?.token;
  const seen = useRef(token);
  // A name that was typed for another plan does not count.
  useEffect(() => {
    if (seen.current !== undefined && token !== undefined && seen.current !== token && typed.value !== '') {
      typed.value = '';
      notify(t.whatGoesWithItHasChanged, 'refused');
    }
    seen.current = token ?? seen.current;
  }, [token, typed]);
  const look = async () => {
    refusal.value = undefined;
    try {
      preview.value = { steps: await planOf(asked), of: JSON.stringify(changes.value) };
    } catch (error) {
      refusal.value = refusalOf(error);
    }
  };
  const send = async () => {
    refusal.value = undefined;
    progress.value = `${command.title} …`;
    try {
      const { body, headers } = await client.exchange(asked.method, asked.address, {
        ...(asked.body !== undefined && { body: asked.body }),
        // What was shown has to be what goes: otherwise the appliance refuses.
        ...(token !== undefined && { headers: { [planHeader]: token } }),
        progress: (now) => (job.value = now),
      });
      touch(`record:${form.path}`, 'machine', 'jobs', 'revisions');
      await notifyChange(
        `${capital(command.verb)}: ${form.title} ${name}${typeof body === 'string' && body !== '' ? ` · ${body}` : ''}`,
        headers,
      );
      go(
        command.verb === 'delete' || !command.on_record
          ? link(entryOf(form.path), 'list', { of: form.path })
          : link(entryOf(form.path), 'record', { of: form.path, key: recordKey }),
      );
    } catch (error) {
      refusal.value = refusalOf(error);
      if (refusal.value.status === 412) plan.again();
    } finally {
      progress.value = '';
      job.value = undefined;
    }
  };
  const title = interrupts
    ? capital(form.title)
    : `${capital(command.verb.replaceAll('-', ' '))} ${form.title} ${name}`.trim();
  const entry = entryOf(form.path);
  const list = link(entry, 'list', { of: form.path });
  const up: readonly [string, string] =
    command.on_record && form.kind === 'records'
      ? [link(entry, 'record', { of: form.path, key: recordKey }), name]
      : [form.kind === 'settings' ? link(entry, 'record', { of: form.path }) : list, capital(form.title)];
  const values = { ...initialValues(fields, undefined), ...changes.value };
  const set = (wire: string, value: unknown) => {
    changes.value = { ...changes.value, [wire]: value };
  };
  const isReady =
    progress.value === '' &&
    (!destroys || (typed.value === word && token !== undefined && occupants.value !== undefined));
  return (
    <>
      <PageHead
        up={up}
        title={title}
        state={
          destroys ? <Pill state="bad">{t.destroys}</Pill> : interrupts && <Pill state="warn">{t.interrupts}</Pill>
        }
        about={command.verb === 'delete' ? form.description : command.title}
      />
      <form
        class="cards sheet"
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) void send();
        }}
      >
        <section class="card" aria-label={t.whatItTakes}>
          {destroys && dataset !== undefined && <Occupants occupants={occupants.value} refused={occupants.refused} />}
          {command.takes_list && <ListBody set={(value) => set('list', value)} />}
          {fields.length > 0 && <Fields {...{ fields, values, set }} problems={refusal.value?.fields ?? {}} isNew />}
          {!hasBody && !destroys && !interrupts && <p>{t.itTakesNothingElse}</p>}
          {interrupts && <CutOff />}
          {destroys && (
            <TypedName name={word} typed={typed}>
              <p class="help">{t.ifAnythingInTheListChanges}</p>
            </TypedName>
          )}
        </section>
        <Preview
          asked={asked}
          shown={openBody(asked.body, fields)}
          command={asCommand(form, command.verb, recordKey, asked.body, fields)}
          steps={destroys ? plan.value?.steps : preview.value?.steps}
          isOld={!destroys && preview.value !== undefined && preview.value.of !== JSON.stringify(changes.value)}
        >
          {plan.refused !== undefined && refusal.value === undefined && <p class="err">{plan.refused}</p>}
          <Refused refusal={refusal.value} known={fields.map(({ wire }) => wire)} />
          <Working title={progress.value} job={job.value} />
          <div class="row end">
            <button type="submit" class={destroys ? 'danger' : 'primary'} disabled={!isReady}>
              {destroys || interrupts ? title : capital(command.verb.replaceAll('-', ' '))}
            </button>
            {!destroys && (
              <button type="button" onClick={() => void look()}>
                {t.preview}
              </button>
            )}
            <a class="btn" href={up[0]}>
              {t.cancel}
            </a>
          </div>
        </Preview>
      </form>
    </>
  );
}

/** A body that is a list of texts. */
function ListBody({ set }: { set(value: unknown): void }) {
  return (
    <div class="field">
      <label for="list">{t.valuesOnePerLine}</label>
      <textarea
        id="list"
        rows={4}
        onInput={(event) =>
          set(
            event.currentTarget.value
              .split('\n')
              .map((line) => line.trim())
              .filter((line) => line !== ''),
          )
        }
      />
    </div>
  );
}

const leaving = { always: 'removed', cascade: t.removedWithCascade, never: t.leftWithoutItsPlace };

/** Resources whose commands interrupt every client and destroy nothing. */
const interrupting: ReadonlySet<string> = new Set(['system/reboot', 'system/shutdown']);

/** Everything on the pools that somebody uses now. */
async function usedNow(): Promise<readonly Occupant[]> {
  const pools = rowsIn(await client.request('GET', '/api/v1.0/storage/volume/?limit=0&fields=name'));
  const all = await Promise.all(pools.map(({ name }) => occupantsOf(textIn(name))));
  return all.flat().filter(({ used_by: users }) => users.length > 0);
}

/** Who loses the connection by a restart of the machine. */
function CutOff() {
  const used = useLive('used now', ['machine'], usedNow);
  if (used.value === undefined) return <Waiting refused={used.refused} what={t.whoUsesWhat} />;
  return (
    <>
      <h2>{t.whoIsCutOff}</h2>
      {used.value.length === 0 ? (
        <p>{t.nobodyIsKnown}</p>
      ) : (
        <ul>
          {used.value.map((one) => (
            <li key={`${one.resource} ${one.id}`}>
              {one.title}
              <span class="warn">{t.usedBy(one.used_by.join(', '))}</span>
            </li>
          ))}
        </ul>
      )}
      <p class="help">{t.theMachineIsAwayForMinutes}</p>
    </>
  );
}

/** What lies there, and who uses it now. */
function Occupants({
  occupants,
  refused,
}: {
  occupants: readonly Occupant[] | undefined;
  refused: string | undefined;
}) {
  if (occupants === undefined) return <Waiting refused={refused} what={t.whatLiesOnIt} />;
  return (
    <>
      <h2>{t.whatGoesWithIt}</h2>
      <Scroller label={t.whatGoesWithIt}>
        <table>
          <tbody>
            {occupants.map((one) => (
              <tr key={`${one.resource} ${one.id}`}>
                <td>
                  <a href={link(entryOf(one.resource), 'record', { of: one.resource, key: String(one.id) })}>
                    {one.title}
                  </a>
                  {one.used_by.length > 0 && <span class="warn">{t.usedBy(one.used_by.join(', '))}</span>}
                </td>
                <td class="num warn">{leaving[one.removed_with_volume]}</td>
              </tr>
            ))}
            <tr>
              <td>{t.allDataAndSnapshotsOfIt(occupants.length === 0 ? t.noRecordNamesIt : '')}</td>
              <td class="num bad">{t.gone}</td>
            </tr>
          </tbody>
        </table>
      </Scroller>
      <p class="help">{t.somethingOnItNothingHereCan(count(occupants.length, t.recordNames, t.recordsName))}</p>
    </>
  );
}
