/** The disks of a pool as they are grouped, and what has to be done about one that has failed. */
import { client } from '../base/client.ts';
import { bytes, count } from '../base/format.ts';
import { useLive } from '../base/live.ts';
import { link } from '../base/route.ts';
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
    <Card title="Disks" beside={<span class="soft">by their groups</span>}>
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
  const may = bearable === 0 ? 'none of them may fail' : `any ${bearable} of them may fail`;
  return failed === 0 ? may : `${may}, ${failed} ${failed === 1 ? 'has' : 'have'}`;
}

const said: Readonly<Record<string, string>> = {
  ONLINE: 'online',
  AVAIL: 'ready',
  INUSE: 'stands in',
  UNAVAIL: 'does not answer',
  REMOVED: 'pulled out',
  FAULTED: 'failed',
  OFFLINE: 'switched off',
};

export const saidOf = ({ status, isStandIn }: Disk): string =>
  isStandIn ? 'spare, stands in' : (said[status] ?? status.toLowerCase());

function Bay({ disk, pool, isWarned }: { disk: Disk; pool: Pool; isWarned: boolean }) {
  const { name, machine, isSpare, isStandIn, errors } = disk;
  const state = diskState(disk) === 'ok' && isWarned ? 'warn' : diskState(disk);
  return (
    <li class={`bay ${state === 'ok' ? '' : state}`}>
      <div class="row">
        <b>{machine?.slot === undefined ? name : `Bay ${machine.slot}`}</b>
        <span class="grow" />
        <span class={`dot ${isSpare ? 'off' : state}`} />
      </div>
      <p class="soft">
        {machine === undefined
          ? nameIn(disk.label)
          : `${bytes(machine.size)} · ${machine.serial || 'no serial number'}`}
      </p>
      <p class={state === 'ok' ? 'soft' : state}>
        {isWarned ? 'SMART reports that it is failing' : saidOf(disk)} · {count(errors, 'error')}
      </p>
      {!isSpare && !isStandIn && (
        <a href={replaceLink(pool.name, name)} aria-label={`Replace ${name}`}>
          Replace…
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
      <Card title="A disk is being filled">
        <Progress scan={pool.scan} what="The new disk is filled" />
      </Card>
    ) : null;
  return (
    <Card title={`${failed.name} ${failed.status === 'OFFLINE' ? 'is switched off' : 'has failed'}`}>
      <p>
        {standIn === undefined
          ? 'No spare stands in for it: replace it soon.'
          : `The spare ${standIn.name} stands in for it until it is replaced.`}
      </p>
      {isRunning && <Progress scan={pool.scan} what="The disk that takes its place is filled" />}
      <ol class="todo">
        <li>Find out which one to pull: {machineName(failed)}.</li>
        <li>Pull it and put in a disk that is at least as large.</li>
        <li>Start the replacement here: the pool fills the new disk.</li>
      </ol>
      <div class="row end">
        <a class="btn primary" href={replaceLink(pool.name, failed.name)}>
          Replace {failed.name}…
        </a>
      </div>
    </Card>
  );
}

const machineName = ({ machine, label }: Disk): string =>
  machine === undefined ? nameIn(label) : `serial number ${machine.serial || 'unknown'}`;

export function Progress({ scan, what }: { scan: Scan | undefined; what?: string }) {
  if (scan === undefined) return null;
  const percent = Math.floor(scan.percent);
  return (
    <div class="scan" role="status">
      <p>
        {what ?? (scan.kind === 'resilver' ? 'A disk is filled' : 'All data is read')}: {percent} %
        {scan.errors > 0 && <span class="bad"> · {count(scan.errors, 'error')}</span>}
      </p>
      <progress max={100} value={percent} aria-label={scan.kind} />
    </div>
  );
}
