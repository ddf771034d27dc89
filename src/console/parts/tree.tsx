/** The datasets and zvols of a pool, each below its parent, with what their space is used for. */
import { useSignal } from '@preact/signals';
import { bytes, count } from '../base/format.ts';
import { link } from '../base/route.ts';
import * as t from '../texts/parts/tree.ts';
import { Scroller, SpaceBar } from './common.tsx';
import { partsOf, type Space } from './space.ts';

const kinds = [
  ['d', 'data'],
  ['s', 'snapshots'],
  ['c', t.datasetsBelow],
  ['h', 'reserved'],
  ['f', 'free'],
] as const;

export const SpaceLegend = () => (
  <div class="key">
    {kinds.map(([kind, title]) => (
      <span key={kind}>
        <i class={kind} />
        {title}
      </span>
    ))}
  </div>
);

export function spaceLabel({ data, snapshots, below, reserved, quota }: Space): string {
  const parts = [
    t.data(bytes(data)),
    t.snapshots(bytes(snapshots)),
    t.below(bytes(below)),
    t.reserved(bytes(reserved)),
  ];
  return `${parts.join(', ')}${quota > 0 ? t.ofIt(bytes(quota)) : ''}`;
}

export const addressOfSpace = ({ name, kind, record }: Space): string =>
  kind === 'dataset'
    ? link('storage', 'dataset', { name })
    : link('storage', 'record', {
        of: `storage/volume/${name.split('/')[0]}/zvols`,
        key: name.split('/').slice(1).join('/') || String(record['name']),
      });

/** Rows above this number begin closed, so that a pool of thousands stays readable. */
const openUpTo = 200;

export function Tree({ pool, spaces, total }: { pool: string; spaces: readonly Space[]; total: number }) {
  const closed = useSignal<ReadonlySet<string> | undefined>(undefined);
  const find = useSignal('');
  const parents = new Set(spaces.map(({ name }) => name.slice(0, Math.max(0, name.lastIndexOf('/')))));
  const initially = spaces.length > openUpTo ? [...parents].filter((one) => one.includes('/')) : [];
  const shut = closed.value ?? new Set(initially);
  const isHidden = (name: string): boolean => {
    const at = name.lastIndexOf('/');
    return at > 0 && (shut.has(name.slice(0, at)) || isHidden(name.slice(0, at)));
  };
  const text = find.value.trim().toLowerCase();
  const shown = spaces.filter(({ name }) => (text === '' ? !isHidden(name) : name.toLowerCase().includes(text)));
  const turn = (name: string) => {
    const next = new Set(shut);
    if (!next.delete(name)) next.add(name);
    closed.value = next;
  };
  return (
    <>
      {spaces.length > 8 && (
        <div class="row tools">
          <input
            type="text"
            class="filter"
            aria-label={t.filterTheDatasetsOf(pool)}
            placeholder={t.filterByName}
            value={find.value}
            onInput={(event) => (find.value = event.currentTarget.value)}
          />
          <span class="soft" role="status">
            {count(shown.length, t.dataset)}
          </span>
        </div>
      )}
      <Scroller label={t.datasetsOf(pool)}>
        <table class="tree">
          <thead>
            <tr>
              <th>{t.name}</th>
              <th class="space">{t.space}</th>
              <th class="num">{t.used}</th>
              <th class="num">{t.quota}</th>
              <th class="num">{t.free}</th>
              <th>{t.mountedAt}</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((one) => (
              <Branch
                key={one.name}
                space={one}
                total={total}
                isFlat={text !== ''}
                isOpen={parents.has(one.name) && text === '' ? !shut.has(one.name) : undefined}
                turn={() => turn(one.name)}
              />
            ))}
          </tbody>
        </table>
      </Scroller>
      <SpaceLegend />
    </>
  );
}

interface BranchProps {
  readonly space: Space;
  readonly total: number;
  readonly isFlat: boolean;
  /** Undefined for one without datasets below. */
  readonly isOpen: boolean | undefined;
  turn(): void;
}

function Branch({ space, total, isFlat, isOpen, turn }: BranchProps) {
  const { name, kind, used, quota, available, mountpoint } = space;
  const depth = isFlat ? 0 : name.split('/').length - 1;
  return (
    <tr>
      <td style={{ paddingLeft: `${8 + depth * 18}px` }}>
        {isOpen === undefined ? (
          <span class="twig" />
        ) : (
          <button type="button" class="twig" aria-expanded={isOpen} aria-label={t.belowOfName(name)} onClick={turn}>
            {isOpen ? '▾' : '▸'}
          </button>
        )}
        <a href={addressOfSpace(space)} aria-label={name}>
          {isFlat ? name : name.split('/').at(-1)}
        </a>
      </td>
      <td>
        <SpaceBar total={quota > 0 ? Math.max(quota, used) : total} label={spaceLabel(space)} parts={partsOf(space)} />
      </td>
      <td class="num">{bytes(used)}</td>
      <td class="num">{quota > 0 ? bytes(quota) : '–'}</td>
      <td class="num">{bytes(available)}</td>
      <td class="soft">{kind === 'zvol' ? t.aZvol : mountpoint || '–'}</td>
    </tr>
  );
}
