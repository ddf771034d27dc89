import { type FormField, formOf } from '../base/catalogue.ts';
import { bytes, shown } from '../base/format.ts';
import type { Row } from '../base/json.ts';
import { useLive } from '../base/live.ts';
import { link, type Place } from '../base/route.ts';
import { Card, SpaceBar, Waiting } from '../parts/common.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RecordProblems } from '../parts/record-parts.tsx';
import { Rows } from '../parts/rows.tsx';
import { inheritable, originOf, partsOf, readSpace, type Space } from '../parts/space.ts';
import { spaceLabel, Tree } from '../parts/tree.tsx';
import * as t from '../texts/pages/dataset.ts';

/** A dataset: its space, its properties with where they come from, and what lies below it. */
export default function DatasetPage({ place: { words } }: { place: Place }) {
  const name = words.get('name') ?? '';
  const pool = name.split('/')[0] ?? '';
  const spaces = useLive(`space ${pool}`, ['machine'], () => readSpace([pool]));
  const form = useLive('form of datasets', [], () => formOf('storage/dataset'));
  const own = spaces.value?.find((one) => one.name === name);
  if (own === undefined)
    return (
      <Waiting
        refused={spaces.refused ?? (spaces.value === undefined ? undefined : t.thereIsNoDataset(name))}
        what={t.theDataset}
      />
    );
  const below = (spaces.value ?? []).filter((one) => one.name.startsWith(`${name}/`));
  const records = new Map((spaces.value ?? []).map((one) => [one.name, one.record]));
  const isRoot = name === pool;
  return (
    <div class="cards one">
      <PageHead
        title={name.split('/').map((part, index, all) => {
          const path = all.slice(0, index + 1).join('/');
          if (path === name) return part;
          const address = index === 0 ? link('storage', 'pool', { name: pool }) : datasetLink(path);
          return (
            <span key={path}>
              <a href={address}>{part}</a> /{' '}
            </span>
          );
        })}
        about={own.mountpoint === '' ? t.notMounted : t.mountedAt(own.mountpoint)}
      >
        <a class="btn" href={link('storage', 'snapshots', { dataset: name })}>
          {t.snapshots}
        </a>
        {!isRoot && (
          <a class="btn" href={link('storage', 'command', { of: 'storage/dataset', key: name, verb: 'delete' })}>
            {t.removeDots}
          </a>
        )}
        <a class="btn primary" href={link('storage', 'record', { of: 'storage/dataset', key: name })}>
          {t.changeDots}
        </a>
      </PageHead>
      <RecordProblems about={`storage/dataset/${name}`} />
      <div class="cards two">
        <Properties {...{ name, records }} fields={form.value?.fields ?? []} />
        <SpaceCard space={own} />
      </div>
      {below.length > 0 && (
        <Card title={t.datasetsBelow}>
          <Tree pool={name} spaces={[own, ...below]} total={own.used + own.available} />
        </Card>
      )}
    </div>
  );
}

const datasetLink = (name: string): string => link('storage', 'dataset', { name });

function SpaceCard({ space }: { space: Space }) {
  const { used, data, snapshots, below, reserved, quota, available } = space;
  const lines = [
    ['d', t.data, data],
    ['s', t.snapshots, snapshots],
    ['c', t.datasetsBelow, below],
    ['h', t.reserved, reserved],
    ['f', t.free, available],
  ] as const;
  return (
    <Card title={t.space} beside={<span class="soft">{quota > 0 ? t.quota(bytes(quota)) : t.noQuota}</span>}>
      <SpaceBar total={used + available} label={spaceLabel(space)} parts={partsOf(space)} />
      <dl class="figures key">
        {lines.map(([kind, title, size]) => (
          <div key={kind} class="row">
            <dt class="grow">
              <i class={kind} />
              {title}
            </dt>
            <dd>{bytes(size)}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

interface PropertiesProps {
  readonly name: string;
  readonly records: ReadonlyMap<string, Row>;
  readonly fields: readonly FormField[];
}

function Properties({ name, records, fields }: PropertiesProps) {
  const rows = inheritable.map((property) => ({
    property,
    title: fields.find(({ wire }) => wire === property)?.title ?? property,
    origin: originOf(name, property, records),
    value: records.get(name)?.[property],
  }));
  return (
    <Card title={t.properties} beside={<span class="soft">{t.itsOwnAndThoseOfThe}</span>}>
      <Rows
        label={t.propertiesOf(name)}
        rows={rows}
        keyOf={({ property }) => property}
        columns={[
          { title: t.property, cell: ({ title }) => title },
          {
            title: t.value,
            cell: ({ property, origin, value }) => (
              <span class={origin === 'here' ? 'what' : ''}>
                {property === 'recordsize' && typeof value === 'number' ? bytes(value) : shown(value, null)}
              </span>
            ),
          },
          {
            title: t.from,
            cell: ({ origin }) => (
              <span class={origin === 'here' ? '' : 'soft'}>
                {origin === 'here' ? t.setHere : origin === 'default' ? t.defaultIt : t.fromOfOrigin(origin)}
              </span>
            ),
          },
          {
            ...{ title: t.change, isAction: true },
            cell: ({ property, title }) => (
              <a
                href={link('storage', 'record', { of: 'storage/dataset', key: name, field: property })}
                aria-label={t.changeOfTitle(title)}
              >
                {t.change}
              </a>
            ),
          },
        ]}
      />
    </Card>
  );
}
