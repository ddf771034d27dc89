import { type FormField, formOf } from '../base/catalogue.ts';
import { bytes, shown } from '../base/format.ts';
import type { Row } from '../base/json.ts';
import { useLive } from '../base/live.ts';
import { link, type Place } from '../base/route.ts';
import { Card, Scroller, SpaceBar, Waiting } from '../parts/common.tsx';
import { RecordProblems } from '../parts/record-parts.tsx';
import { inheritable, originOf, partsOf, readSpace, type Space } from '../parts/space.ts';
import { spaceLabel, Tree } from '../parts/tree.tsx';

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
        refused={spaces.refused ?? (spaces.value === undefined ? undefined : `There is no dataset ${name}.`)}
        what="the dataset"
      />
    );
  const below = (spaces.value ?? []).filter((one) => one.name.startsWith(`${name}/`));
  const records = new Map((spaces.value ?? []).map((one) => [one.name, one.record]));
  const isRoot = name === pool;
  return (
    <div class="cards one">
      <div class="row top">
        <h1>
          {name.split('/').map((part, index, all) => {
            const path = all.slice(0, index + 1).join('/');
            if (path === name) return part;
            const address = index === 0 ? link('storage', 'pool', { name: pool }) : datasetLink(path);
            return (
              <span key={path}>
                <a href={address}>{part}</a> /{' '}
              </span>
            );
          })}
        </h1>
        <span class="soft grow">{own.mountpoint === '' ? 'not mounted' : `mounted at ${own.mountpoint}`}</span>
        <a class="btn" href={link('storage', 'snapshots', { dataset: name })}>
          Snapshots
        </a>
        {!isRoot && (
          <a class="btn" href={link('storage', 'command', { of: 'storage/dataset', key: name, verb: 'delete' })}>
            Remove…
          </a>
        )}
        <a class="btn primary" href={link('storage', 'record', { of: 'storage/dataset', key: name })}>
          Change…
        </a>
      </div>
      <RecordProblems about={`storage/dataset/${name}`} />
      <div class="cards two">
        <Properties {...{ name, records }} fields={form.value?.fields ?? []} />
        <SpaceCard space={own} />
      </div>
      {below.length > 0 && (
        <Card title="Datasets below">
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
    ['d', 'Data', data],
    ['s', 'Snapshots', snapshots],
    ['c', 'Datasets below', below],
    ['h', 'Reserved', reserved],
    ['f', 'Free', available],
  ] as const;
  return (
    <Card title="Space" beside={<span class="soft">{quota > 0 ? `quota ${bytes(quota)}` : 'no quota'}</span>}>
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
  return (
    <Card title="Properties" beside={<span class="soft">its own, and those of the dataset above</span>}>
      <Scroller label={`Properties of ${name}`}>
        <table>
          <thead>
            <tr>
              <th>Property</th>
              <th>Value</th>
              <th>From</th>
              <th>
                <span class="unseen">Change</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {inheritable.map((property) => {
              const field = fields.find(({ wire }) => wire === property);
              const origin = originOf(name, property, records);
              const title = field?.title ?? property;
              const value = records.get(name)?.[property];
              return (
                <tr key={property}>
                  <td>{title}</td>
                  <td class={origin === 'here' ? 'what' : ''}>
                    {property === 'recordsize' && typeof value === 'number' ? bytes(value) : shown(value, null)}
                  </td>
                  <td class={origin === 'here' ? '' : 'soft'}>
                    {origin === 'here' ? 'set here' : origin === 'default' ? 'default' : <>from {origin}</>}
                  </td>
                  <td class="num">
                    <a
                      href={link('storage', 'record', { of: 'storage/dataset', key: name, field: property })}
                      aria-label={`Change ${title}`}
                    >
                      Change
                    </a>
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroller>
    </Card>
  );
}
