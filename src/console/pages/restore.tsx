import { useSignal } from '@preact/signals';
import type { components } from '../../../clients/typescript/src/index.ts';
import { addressOf, entryOf, formOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { count } from '../base/format.ts';
import { rowsIn, textIn } from '../base/json.ts';
import { touch, useLive } from '../base/live.ts';
import { notify } from '../base/notices.ts';
import { type Refusal, refusalOf } from '../base/problem.ts';
import { go, link, type Place } from '../base/route.ts';
import { type Asked, asCommand } from '../parts/asking.ts';
import { Pick, TypedName, Waiting } from '../parts/common.tsx';
import { TextField } from '../parts/labelled.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Preview, planHeader, planOf, type Step, useDestroyingPlan } from '../parts/preview.tsx';
import { Refused } from '../parts/refused.tsx';
import * as t from '../texts/pages/restore.ts';

interface Lost {
  /** Names of the snapshots that are newer, the newest first. */
  readonly newer: readonly string[];
  /** What lies on the dataset. */
  readonly occupants: readonly components['schemas']['Occupant'][];
}

/** What is lost when a dataset goes back to one of its snapshots. */
async function readLost(dataset: string, name: string): Promise<Lost> {
  const chosen = new URLSearchParams({ limit: '0', fields: 'name', filter: `filesystem=${dataset}` });
  const [own, occupants] = await Promise.all([
    client.request('GET', `${addressOf('storage/snapshot')}?${chosen}`),
    client.get('/api/holdfast/v1/occupants', { query: { dataset } }),
  ]);
  // The list has the oldest first.
  const names = rowsIn(own).map((one) => textIn(one['name']));
  return { newer: names.slice(names.indexOf(name) + 1).toReversed(), occupants };
}

/** Restores from a snapshot: beside the dataset, which loses nothing, or in its place. */
export default function RestorePage({ place: { words } }: { place: Place }) {
  const id = words.get('snapshot') ?? '';
  const [dataset = '', name = ''] = id.split('@');
  const lost = useLive(`lost ${id}`, ['machine'], () => readLost(dataset, name));
  const form = useLive('form of snapshots', [], () => formOf('storage/snapshot'));
  const way = useSignal<'clone' | 'rollback'>('clone');
  const target = useSignal(`${dataset}${dataset.includes('/') ? '-' : '/'}${name}`.replaceAll(' ', '-'));
  const typed = useSignal('');
  const refusal = useSignal<Refusal | undefined>(undefined);
  const preview = useSignal<{ readonly steps: readonly Step[]; readonly of: string } | undefined>(undefined);
  const isSending = useSignal(false);
  const isBack = way.value === 'rollback';
  const { newer, occupants } = lost.value ?? { newer: [], occupants: [] };
  const body = isBack ? { force: newer.length > 0 } : { name: target.value };
  const asked: Asked = {
    method: 'POST',
    address: `${addressOf('storage/snapshot', id)}${way.value}/`,
    ...{ body, etag: undefined },
  };
  const plan = useDestroyingPlan(isBack && lost.value !== undefined ? asked : undefined);
  if (lost.value === undefined) return <Waiting refused={lost.refused} what={t.whatIsNewer} />;
  const of = JSON.stringify([way.value, body]);
  const token = plan.value?.token;
  const look = async () => {
    refusal.value = undefined;
    try {
      preview.value = { steps: await planOf(asked), of };
    } catch (error) {
      preview.value = undefined;
      refusal.value = refusalOf(error);
    }
  };
  const send = async () => {
    refusal.value = undefined;
    isSending.value = true;
    try {
      await client.exchange(asked.method, asked.address, {
        body,
        // What was shown has to be what is lost: otherwise the appliance refuses.
        ...(token !== undefined && { headers: { [planHeader]: token } }),
      });
      touch('machine', 'record:storage/snapshot');
      notify(isBack ? t.isWhatItWasAt(dataset, name) : t.hasTheFilesOf(target.value, id));
      go(link('storage', 'dataset', { name: isBack ? dataset : target.value }));
    } catch (error) {
      refusal.value = refusalOf(error);
      if (refusal.value.status === 412) {
        typed.value = '';
        lost.again();
        plan.again();
      }
    } finally {
      isSending.value = false;
    }
  };
  const choose = (next: 'clone' | 'rollback') => {
    way.value = next;
    preview.value = undefined;
    refusal.value = undefined;
  };
  const isReady = !isSending.value && (!isBack || (typed.value === dataset && token !== undefined));
  const command = form.value === undefined ? '' : asCommand(form.value, way.value, id, body, form.value.fields);
  return (
    <>
      <PageHead
        up={[link('storage', 'snapshots', { dataset }), t.snapshots]}
        title={t.restoreFrom(name)}
        about={t.ofIt(dataset)}
      />
      <form
        class="cards sheet"
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) void send();
        }}
      >
        <section class="card" aria-label={t.howToRestore}>
          <fieldset class="picks">
            <legend class="unseen">{t.howToRestore}</legend>
            <Pick
              name="way"
              isChosen={!isBack}
              choose={() => choose('clone')}
              title={t.besideIt}
              text={t.aNewDatasetHasTheFiles}
            />
            <Pick
              name="way"
              isChosen={isBack}
              choose={() => choose('rollback')}
              title={t.inItsPlace}
              text={t.goesBackWhatWasWrittenSince(dataset)}
            />
          </fieldset>
          {isBack ? (
            <>
              <LostList {...{ dataset, name, newer, occupants }} />
              <TypedName name={dataset} typed={typed} />
            </>
          ) : (
            <TextField
              id="clone"
              label={t.nameOfTheNewDataset}
              value={target.value}
              set={(value) => (target.value = value)}
              problems={refusal.value?.fields['name']}
              help={t.itTakesNoSpaceAtFirst(
                <a href={link('storage', 'files', { snapshot: id })}>{t.chooseThemInTheSnapshot}</a>,
              )}
            />
          )}
        </section>
        <Preview
          {...{ asked, command }}
          shown={body}
          steps={isBack ? plan.value?.steps : preview.value?.steps}
          isOld={!isBack && preview.value !== undefined && preview.value.of !== of}
        >
          {plan.refused !== undefined && refusal.value === undefined && <p class="err">{plan.refused}</p>}
          <Refused refusal={refusal.value} known={isBack ? [] : ['name']} />
          <div class="row end">
            <button type="submit" class={isBack ? 'danger' : 'primary'} disabled={!isReady}>
              {isBack ? t.rollBack(dataset) : t.makeTheDataset}
            </button>
            {!isBack && (
              <button type="button" onClick={() => void look()}>
                {t.preview}
              </button>
            )}
            <a class="btn" href={link('storage', 'snapshots', { dataset })}>
              {t.cancel}
            </a>
          </div>
        </Preview>
      </form>
    </>
  );
}

/** Snapshots that are named; the rest is counted. */
const named = 6;

function LostList({ dataset, name, newer, occupants }: Lost & { dataset: string; name: string }) {
  const users = occupants.flatMap(({ used_by: users }) => users);
  return (
    <div class="beneath">
      <h2>{t.whatIsLost}</h2>
      <table>
        <tbody>
          <tr>
            <td class="wrap">{t.everythingWrittenToSince(dataset, name)}</td>
            <td class="num bad">{t.gone}</td>
          </tr>
          {newer.slice(0, named).map((one) => (
            <tr key={one}>
              <td class="wrap">{t.snapshot(one)}</td>
              <td class="num bad">{t.gone}</td>
            </tr>
          ))}
          {newer.length > named && (
            <tr>
              <td class="wrap">{t.allNewerThan(count(newer.length - named, t.furtherSnapshot), name)}</td>
              <td class="num bad">{t.gone}</td>
            </tr>
          )}
          {occupants.map((one) => (
            <tr key={`${one.resource} ${one.id}`}>
              <td class="wrap">
                <a href={link(entryOf(one.resource), 'record', { of: one.resource, key: String(one.id) })}>
                  {one.title}
                </a>
              </td>
              <td class="num ok">{t.stays}</td>
            </tr>
          ))}
          <tr>
            <td class="wrap">{t.datasetsBelowAndOlderSnapshots(dataset)}</td>
            <td class="num ok">{t.stay}</td>
          </tr>
        </tbody>
      </table>
      {users.length > 0 && <p class="warn">{t.inUseByOpenFilesChange(users.join(', '))}</p>}
    </div>
  );
}
