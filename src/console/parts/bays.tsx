/** The disks of a pool as they are grouped, and what has to be done about one that has failed. */
import { client } from '../base/client.ts';
import { bytes, count } from '../base/format.ts';
import { useLive } from '../base/live.ts';
import { link } from '../base/route.ts';
import * as t from '../texts/parts/bays.ts';
import { Card } from './common.tsx';
import { bearableIn, type Disk, diskState, type Pool, type Scan } from './pools.tsx';

export const replaceLink = (pool: string, disk = ''): string => link('storage', 'replace', { pool, disk });

/** The failed disks of a pool. A stand-in of them stays until they are replaced. */
export const failedIn = ({ disks }: Pool): readonly Disk[] =>
  disks.filter((one) => !one.isSpare && diskState(one) === 'bad');

export function Bays({ pool }: { pool: Pool }) {
  const { value: problems = [] } = useLive('disk problems', ['problems'], () =>
    client.get('/api/holdfast/v1/problems', { query: { filter: ['kind=smart'] } }),
  );
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

function Bay({ disk, pool, isWarned }: { disk: Disk; pool: Pool; isWarned: boolean }) {
  const { name, machine, isSpare, isStandIn, errors } = disk;
  const state = diskState(disk) === 'ok' && isWarned ? 'warn' : diskState(disk);
  return (
    <li class={`bay ${state === 'ok' ? '' : state}`}>
      <div class="row">
        <b>{machine?.slot === undefined ? name : t.bay(machine.slot)}</b>
        <span class="grow" />
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

export function Progress({ scan, what }: { scan: Scan | undefined; what?: string }) {
  if (scan === undefined) return null;
  const percent = Math.floor(scan.percent);
  return (
    <div class="scan" role="status">
      <p>
        {what ?? (scan.kind === 'resilver' ? t.aDiskIsFilled : t.allDataIsRead)}: {percent} %
        {scan.errors > 0 && <span class="bad"> · {count(scan.errors, t.error)}</span>}
      </p>
      <progress max={100} value={percent} aria-label={scan.kind} />
    </div>
  );
}
