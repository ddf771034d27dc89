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
import { PageHead } from '../parts/page-head.tsx';
import { Pages } from '../parts/pages.ts';
import * as t from '../texts/pages/snapshots.ts';

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
      <PageHead
        title={t.snapshots}
        about={length === undefined ? '' : `${pages.isWhole.value ? '' : t.moreThan}${count(length, t.snapshot)}`}
        isStatus
      >
        <a
          class="btn primary"
          href={link('storage', 'record', { of: 'storage/snapshot', new: '1', 'set.dataset': dataset })}
        >
          {t.newSnapshot}
        </a>
      </PageHead>
      <div class="cards beside">
        <div class="card">
          <div class="row tools">
            <Datasets chosen={dataset} />
            <input
              type="text"
              class="filter"
              aria-label={t.filterByName}
              placeholder={t.filterByName}
              value={text.value}
              onInput={(event) => (text.value = event.currentTarget.value)}
            />
          </div>
          {length === undefined ? (
            <Waiting refused={pages.refused.value} what={t.theSnapshots} />
          ) : length === 0 ? (
            <p class="empty soft">{find.value === '' ? t.thereIsNoSnapshotHereYet : t.noSnapshotHasThisName}</p>
          ) : (
            <LongList
              label={t.snapshots}
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
  { title: t.nameOfSnapshot, cell: (row) => textIn(row['name']) },
  { title: t.dataset, cell: (row) => textIn(row['filesystem']) },
  { title: t.ownSpace, isNumber: true, order: 'used', cell: (row) => size(row, 'used') },
  { title: t.refersTo, isNumber: true, order: 'refer', cell: (row) => size(row, 'refer') },
];

const ownColumns = columns.filter((_, index) => index !== 1);

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
      aria-label={t.dataset}
      value={chosen}
      onChange={(event) => go(link('storage', 'snapshots', { dataset: event.currentTarget.value }))}
    >
      <option value="">{t.allDatasets}</option>
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
      <Card title={t.noSnapshotChosen}>
        <p class="soft">{t.chooseOneToGetFilesBack}</p>
      </Card>
    );
  const id = textIn(row['id']);
  const dataset = textIn(row['filesystem']);
  return (
    <Card title={textIn(row['name'])}>
      <dl class="figures">
        <div>
          <dt>{t.dataset}</dt>
          <dd>{dataset}</dd>
        </div>
        <div>
          <dt>{t.freedWhenItIsRemoved}</dt>
          <dd>{size(row, 'used')}</dd>
        </div>
        <div>
          <dt>{t.refersTo}</dt>
          <dd>{size(row, 'refer')}</dd>
        </div>
      </dl>
      {row['mostrecent'] === true && <p class="help">{t.itIsTheNewestOneOf}</p>}
      <div class="row end">
        <a class="btn primary" href={link('storage', 'files', { snapshot: id })}>
          {t.filesDots}
        </a>
        <a class="btn" href={link('storage', 'differences', { from: id })}>
          {t.compareDots}
        </a>
        <a class="btn" href={link('storage', 'restore', { snapshot: id })}>
          {t.restoreAllDots}
        </a>
        <a class="btn" href={link('storage', 'command', { of: 'storage/snapshot', key: id, verb: 'delete' })}>
          {t.removeDots}
        </a>
      </div>
    </Card>
  );
}
