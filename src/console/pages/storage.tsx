import { bytes, count } from '../base/format.ts';
import { useLive } from '../base/live.ts';
import { link, type Place } from '../base/route.ts';
import { Bays, failedIn, Mending, Progress, replaceLink } from '../parts/bays.tsx';
import { Card, Waiting } from '../parts/common.tsx';
import { MeasuredCharts } from '../parts/measured.tsx';
import { DiskRow, type MachineDisk, type Pool, PoolState, readDisks, readPools } from '../parts/pools.tsx';
import { RecordProblems } from '../parts/record-parts.tsx';
import { useWatched } from '../parts/resilver.ts';
import { Resources } from '../parts/resources.tsx';
import { readSpace, type Space } from '../parts/space.ts';
import { Tree } from '../parts/tree.tsx';
import * as t from '../texts/pages/storage.ts';

/** Pools with their disks and the tree of their datasets; one of them, or all. */
export default function StoragePage({ place: { words } }: { place: Place }) {
  const only = words.get('name');
  const pools = useLive('pools', ['machine', 'record:storage/volume'], readPools);
  const names = pools.value?.map(({ name }) => name) ?? [];
  const spaces = useLive(`space ${names}`, ['machine'], () => (names.length === 0 ? noSpace() : readSpace(names)));
  const disks = useLive('disks', ['machine'], readDisks);
  useWatched(pools.value ?? [], pools.again);
  if (pools.value === undefined) return <Waiting refused={pools.refused} what={t.thePools} />;
  const shown = pools.value.filter(({ name }) => only === null || name === only);
  return (
    <>
      {only === null && (
        <div class="row top">
          <h1>{t.storage}</h1>
          <span class="grow" />
          <a class="btn" href={link('storage', 'snapshots')}>
            {t.snapshots}
          </a>
          <a class="btn" href={link('storage', 'list', { of: 'storage/disk' })}>
            {t.disks}
          </a>
          <a class="btn primary" href={link('storage', 'new-pool')}>
            {t.newPool}
          </a>
        </div>
      )}
      {shown.length === 0 && <p class="card soft">{only === null ? t.thereIsNoPoolYet : t.thereIsNoPool(only)}</p>}
      {shown.map((pool) => (
        <OnePool
          key={pool.name}
          pool={pool}
          isAlone={only !== null}
          spaces={(spaces.value ?? []).filter(({ name }) => name === pool.name || name.startsWith(`${pool.name}/`))}
        />
      ))}
      {only === null && (
        <div class="cards more">
          <Unused disks={disks.value ?? []} pools={pools.value} />
          <Resources entry="storage" />
        </div>
      )}
    </>
  );
}

const noSpace = async (): Promise<readonly Space[]> => [];

function OnePool({ pool, isAlone, spaces }: { pool: Pool; isAlone: boolean; spaces: readonly Space[] }) {
  const { name, disks, free, total, scan } = pool;
  const command = (verb: string) => link('storage', 'command', { of: 'storage/volume', key: name, verb });
  const isScanned = scan?.state === 'running';
  const failed = failedIn(pool);
  return (
    <div class="cards pool">
      <div class="row top">
        {isAlone ? (
          <h1>{name}</h1>
        ) : (
          <h2>
            <a href={link('storage', 'pool', { name })}>{name}</a>
          </h2>
        )}
        <PoolState pool={pool} />
        <span class="soft grow about">
          {t.freeOf(
            [...new Set(disks.map(({ group }) => group))].join(', '),
            count(disks.length, t.disk),
            bytes(free),
            bytes(total),
          )}
        </span>
        <a class="btn" href={command(isScanned && scan.kind === 'scrub' ? 'stop-scrub' : 'scrub')}>
          {isScanned && scan.kind === 'scrub' ? t.stopTheScrub : t.scrubDots}
        </a>
        <a class="btn" href={link('storage', 'record', { of: 'storage/volume', key: name })}>
          {t.moreDots}
        </a>
      </div>
      <RecordProblems about={`storage/volume/${name}`} />
      {isAlone ? (
        <div class={failed.length > 0 || isScanned ? 'cards two' : ''}>
          <Bays pool={pool} />
          {scan !== undefined && isScanned && scan.kind === 'scrub' && failed.length === 0 ? (
            <Card title={t.aScrubRuns}>
              <Progress scan={scan} />
            </Card>
          ) : (
            <Mending pool={pool} />
          )}
        </div>
      ) : (
        <div class="row">
          <DiskRow pool={pool} />
          <span class="grow" />
          {failed[0] !== undefined && <a href={replaceLink(name, failed[0].name)}>{t.replace(failed[0].name)}</a>}
        </div>
      )}
      {!isAlone && isScanned && <Progress scan={scan} />}
      {isAlone && <MeasuredCharts pool={name} />}
      <Card
        title={t.datasets}
        beside={
          <a class="btn" href={link('storage', 'record', { of: `storage/volume/${name}/datasets`, new: '1' })}>
            {t.newDataset}
          </a>
        }
      >
        <Tree pool={name} spaces={spaces} total={total} />
      </Card>
    </div>
  );
}

/** The disks that no pool has. */
function Unused({ disks, pools }: { disks: readonly MachineDisk[]; pools: readonly Pool[] }) {
  const taken = new Set(pools.flatMap((pool) => pool.disks.map(({ name }) => name)));
  const free = disks.filter(({ name }) => !taken.has(name));
  if (free.length === 0) return null;
  return (
    <Card title={t.disksInNoPool} beside={<span class="soft">{count(free.length, t.disk)}</span>}>
      <ul class="bays">
        {free.map(({ id, name, size, serial, slot }) => (
          <li key={id} class="bay">
            <b>{slot === undefined ? name : t.bay(slot)}</b>
            <p class="soft">
              {bytes(size)} · {serial || t.noSerialNumber}
            </p>
          </li>
        ))}
      </ul>
    </Card>
  );
}
