/** The disks of a pool as they are grouped, and what has to be done about one that has failed. */
import { client } from '../base/client.ts';
import { now } from '../base/contact.ts';
import { bytes, count, until } from '../base/format.ts';
import { useLive } from '../base/live.ts';
import { link } from '../base/route.ts';
import * as t from '../texts/parts/bays.ts';
import { Card } from './common.tsx';
import { bearableIn, type Disk, diskState, type Pool, type Scan } from './pools.tsx';

export const replaceLink = (pool: string, disk = ''): string => link('storage', 'replace', { pool, disk });

/** The failed disks of a pool. A stand-in of them stays until they are replaced. */
export const failedIn = ({ disks }: Pool): readonly Disk[] =>
  disks.filter((one) => !one.isSpare && diskState(one) === 'bad');

/** Series that one request takes. */
const mostDisks = 50;

/** The last temperature of each disk, by its name. */
async function readTemperatures(): Promise<ReadonlyMap<string, number>> {
  const series = await client.get('/api/holdfast/v1/metrics/series', {
    query: { limit: 1000, filter: ['metric=temperature'] },
  });
  const names = new Map(series.filter(({ device }) => device !== '').map((one) => [one.series, one.device]));
  const wanted = [...names.keys()].slice(0, mostDisks);
  if (wanted.length === 0) return new Map();
  const { series: found } = await client.get('/api/holdfast/v1/metrics/history', {
    query: { series: wanted.join(','), from: '-1h' },
  });
  return new Map(
    found.flatMap(({ series: one, points }) => {
      const last = points.at(-1)?.mean;
      return last === undefined ? [] : [[names.get(one) ?? '', last] as const];
    }),
  );
}

export function Bays({ pool }: { pool: Pool }) {
  const { value: problems = [] } = useLive('disk problems', ['problems'], () =>
    client.get('/api/holdfast/v1/problems', { query: { filter: ['kind=smart'] } }),
  );
  const { value: degrees } = useLive('temperatures', ['measured'], readTemperatures);
  const warned = new Set(problems.map(({ about }) => about.replace('storage/disk/', '')));
  return (
    <Card title={t.disks} beside={<span class="soft">{t.byTheirGroups}</span>}>
      {[...Map.groupBy(pool.disks, ({ group }) => group)].map(([group, disks]) => {
        const bearable = bearableIn(group, disks);
        return (
          <div key={group} class="vdev">
            <h3>
              {group}
              {bearable !== undefined && ` · ${bearing(bearable, disks)}`}
            </h3>
            <ul class="bays">
              {disks.map((disk) => (
                <Bay
                  key={`${group} ${disk.name}`}
                  {...{ disk, pool }}
                  degrees={degrees?.get(disk.name)}
                  isWarned={disk.machine !== undefined && warned.has(disk.machine.id)}
                />
              ))}
            </ul>
          </div>
        );
      })}
    </Card>
  );
}

function bearing(bearable: number, disks: readonly Disk[]): string {
  const failed = disks.filter((one) => diskState(one) === 'bad').length;
  const may = bearable === 0 ? t.noneOfThemMayFail : t.anyOfThemMayFail(bearable);
  return failed === 0 ? may : `${may}, ${failed} ${failed === 1 ? 'has' : 'have'}`;
}

const said: Readonly<Record<string, string>> = {
  ONLINE: 'online',
  AVAIL: 'ready',
  INUSE: t.standsIn,
  UNAVAIL: t.doesNotAnswer,
  REMOVED: t.pulledOut,
  FAULTED: 'failed',
  OFFLINE: t.switchedOff,
};

export const saidOf = ({ status, isStandIn }: Disk): string =>
  isStandIn ? t.spareStandsIn : (said[status] ?? status.toLowerCase());

interface BayProps {
  readonly disk: Disk;
  readonly pool: Pool;
  readonly isWarned: boolean;
  readonly degrees: number | undefined;
}

function Bay({ disk, pool, isWarned, degrees }: BayProps) {
  const { name, machine, isSpare, isStandIn, errors } = disk;
  const state = diskState(disk) === 'ok' && isWarned ? 'warn' : diskState(disk);
  return (
    <li class={`bay ${state === 'ok' ? '' : state}`}>
      <div class="row">
        <b>{machine?.slot === undefined ? name : t.bay(machine.slot)}</b>
        <span class="grow" />
        {degrees !== undefined && <span class="soft">{t.celsius(Math.round(degrees))}</span>}
        <span class={`dot ${isSpare ? 'off' : state}`} />
      </div>
      <p class="soft">
        {machine === undefined ? nameIn(disk.label) : `${bytes(machine.size)} · ${machine.serial || t.noSerialNumber}`}
      </p>
      <p class={state === 'ok' ? 'soft' : state}>
        {isWarned ? t.smartReportsThatItIsFailing : saidOf(disk)} · {count(errors, t.error)}
      </p>
      {!isSpare && !isStandIn && (
        <a href={replaceLink(pool.name, name)} aria-label={t.replace(name)}>
          {t.replaceDots}
        </a>
      )}
    </li>
  );
}

/** A label without the folder of the device. */
export const nameIn = (label: string): string =>
  label.replace(/^\/dev\/(disk\/by-\w+\/)?/, '').replace(/-part\d+$/, '');

/** What has to be done about a failed disk, or how far a resilver is. */
export function Mending({ pool }: { pool: Pool }) {
  const [failed] = failedIn(pool);
  const standIn = pool.disks.find(({ isStandIn }) => isStandIn);
  const isRunning = pool.scan?.kind === 'resilver' && pool.scan.state === 'running';
  if (failed === undefined)
    return isRunning ? (
      <Card title={t.aDiskIsBeingFilled}>
        <Progress scan={pool.scan} what={t.theNewDiskIsFilled} />
      </Card>
    ) : null;
  return (
    <Card title={`${failed.name} ${failed.status === 'OFFLINE' ? t.isSwitchedOff : t.hasFailed}`}>
      <p>{standIn === undefined ? t.noSpareStandsInForIt : t.theSpareStandsInForIt(standIn.name)}</p>
      {isRunning && <Progress scan={pool.scan} what={t.theDiskThatTakesItsPlace} />}
      <ol class="todo">
        <li>{t.findOutWhichOneToPull(machineName(failed))}</li>
        <li>{t.pullItAndPutInA}</li>
        <li>{t.startTheReplacementHereThePool}</li>
      </ol>
      <div class="row end">
        <a class="btn primary" href={replaceLink(pool.name, failed.name)}>
          {t.replaceOfName(failed.name)}
        </a>
      </div>
    </Card>
  );
}

const machineName = ({ machine, label }: Disk): string =>
  machine === undefined ? nameIn(label) : t.serialNumber(machine.serial || t.unknown);

/** When a scan ends if it goes on as it has begun; undefined as long as that says nothing. */
function endOf({ percent, began }: Scan, at: number): string | undefined {
  if (began === undefined || percent < 1) return undefined;
  return new Date(began + ((at - began) * 100) / percent).toISOString();
}

export function Progress({ scan, what }: { scan: Scan | undefined; what?: string }) {
  if (scan === undefined) return null;
  const percent = Math.floor(scan.percent);
  const end = endOf(scan, now.value);
  return (
    <div class="scan" role="status">
      <p>
        {what ?? (scan.kind === 'resilver' ? t.aDiskIsFilled : t.allDataIsRead)}: {percent} %
        {end !== undefined && ` · ${t.probablyDone(until(end, now.value))}`}
        {scan.errors > 0 && <span class="bad"> · {count(scan.errors, t.error)}</span>}
      </p>
      <progress max={100} value={percent} aria-label={scan.kind} />
    </div>
  );
}
