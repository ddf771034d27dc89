import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { addressOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { bytes, count } from '../base/format.ts';
import { numberIn, type Row, rowsIn, textIn } from '../base/json.ts';
import { useLive } from '../base/live.ts';
import { go, link, type Place } from '../base/route.ts';
import { Card, Waiting } from '../parts/common.tsx';
import { type LongColumn, LongList } from '../parts/long-list.tsx';
import { Pages } from '../parts/pages.ts';

const address = addressOf('storage/snapshot');
const fields = 'id,filesystem,name,used,refer,mostrecent';

/** The words that choose from the list. Without them the appliance counts it, and answers any page of it at once. */
function wordsFor(dataset: string, find: string, order: string): URLSearchParams {
  const words = new URLSearchParams();
  if (dataset !== '') words.append('filter', `filesystem=${dataset}`);
  if (find !== '') words.append('filter', `id~${find}`);
  if (order !== '') words.set('order', order);
  if (words.size > 0) words.set('fields', fields);
  return words;
}

/** Every snapshot of the appliance, or of one dataset. */
export default function SnapshotsPage({ place: { words } }: { place: Place }) {
  const dataset = words.get('dataset') ?? '';
  const text = useSignal('');
  const find = useSignal('');
  const order = useSignal('');
  const chosen = useSignal<Row | undefined>(undefined);
  useEffect(() => {
    const timer = setTimeout(() => (find.value = text.value.trim()), 250);
    return () => clearTimeout(timer);
  }, [text.value, find]);
  const asked = wordsFor(dataset, find.value, order.value);
  const pages = useMemo(() => new Pages(address, asked), [String(asked)]);
  useEffect(() => () => pages.stop(), [pages]);
  useLive(`snapshots ${asked}`, ['machine', 'record:storage/snapshot'], async () => pages.again());
  const length = pages.length.value;
  return (
    <>
      <div class="row top">
        <h1>Snapshots</h1>
        <span class="soft grow" role="status">
          {length === undefined ? '' : `${pages.isWhole.value ? '' : 'more than '}${count(length, 'snapshot')}`}
        </span>
        <a
          class="btn primary"
          href={link('storage', 'record', { of: 'storage/snapshot', new: '1', 'set.dataset': dataset })}
        >
          New snapshot
        </a>
      </div>
      <div class="cards beside">
        <div class="card">
          <div class="row tools">
            <Datasets chosen={dataset} />
            <input
              type="text"
              class="filter"
              aria-label="Filter by name"
              placeholder="Filter by name"
              value={text.value}
              onInput={(event) => (text.value = event.currentTarget.value)}
            />
          </div>
          {length === undefined ? (
            <Waiting refused={pages.refused.value} what="the snapshots" />
          ) : length === 0 ? (
            <p class="empty soft">
              {find.value === '' ? 'There is no snapshot here yet.' : 'No snapshot has this name.'}
            </p>
          ) : (
            <LongList
              label="Snapshots"
              {...{ pages }}
              columns={dataset === '' ? columns : ownColumns}
              keyOf={(row) => textIn(row['id'])}
              chosen={textIn(chosen.value?.['id'])}
              order={order.value}
              sort={(next) => (order.value = next)}
              choose={(row) => (chosen.value = row)}
            />
          )}
        </div>
        <One row={chosen.value} />
      </div>
    </>
  );
}

const size = (row: Row, field: string): string => bytes(numberIn(row[field]) ?? 0);

const columns: readonly LongColumn[] = [
  { title: 'Snapshot', cell: (row) => textIn(row['name']) },
  { title: 'Dataset', cell: (row) => textIn(row['filesystem']) },
  { title: 'Own space', isNumber: true, order: 'used', cell: (row) => size(row, 'used') },
  { title: 'Refers to', isNumber: true, order: 'refer', cell: (row) => size(row, 'refer') },
];

const ownColumns = columns.filter(({ title }) => title !== 'Dataset');

/** Chooses one dataset. */
function Datasets({ chosen }: { chosen: string }) {
  const names = useLive('names of datasets', ['machine'], async () =>
    rowsIn(await client.request('GET', '/api/v1.0/storage/dataset/?limit=0&fields=name')).map((one) =>
      textIn(one['name']),
    ),
  );
  const known = names.value ?? [];
  return (
    <select
      class="filter"
      aria-label="Dataset"
      value={chosen}
      onChange={(event) => go(link('storage', 'snapshots', { dataset: event.currentTarget.value }))}
    >
      <option value="">All datasets</option>
      {chosen !== '' && !known.includes(chosen) && <option value={chosen}>{chosen}</option>}
      {known.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}

/** The chosen snapshot, and what can be done with it. */
function One({ row }: { row: Row | undefined }) {
  if (row === undefined)
    return (
      <Card title="No snapshot chosen">
        <p class="soft">
          Choose one to get files back from it, to compare it or to remove it. The arrow keys lead from one to the next.
        </p>
      </Card>
    );
  const id = textIn(row['id']);
  const dataset = textIn(row['filesystem']);
  return (
    <Card title={textIn(row['name'])}>
      <dl class="figures">
        <div>
          <dt>Dataset</dt>
          <dd>{dataset}</dd>
        </div>
        <div>
          <dt>Freed when it is removed</dt>
          <dd>{size(row, 'used')}</dd>
        </div>
        <div>
          <dt>Refers to</dt>
          <dd>{size(row, 'refer')}</dd>
        </div>
      </dl>
      {row['mostrecent'] === true && <p class="help">It is the newest one of its dataset.</p>}
      <div class="row end">
        <a class="btn primary" href={link('storage', 'files', { snapshot: id })}>
          Files…
        </a>
        <a class="btn" href={link('storage', 'differences', { from: id })}>
          Compare…
        </a>
        <a class="btn" href={link('storage', 'restore', { snapshot: id })}>
          Restore all…
        </a>
        <a class="btn" href={link('storage', 'command', { of: 'storage/snapshot', key: id, verb: 'delete' })}>
          Remove…
        </a>
      </div>
    </Card>
  );
}
