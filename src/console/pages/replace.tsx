import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { formOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { bytes } from '../base/format.ts';
import { touch, useLive } from '../base/live.ts';
import { notify } from '../base/notices.ts';
import { type Refusal, refusalOf } from '../base/problem.ts';
import { link, type Place } from '../base/route.ts';
import { type Asked, asCommand } from '../parts/asking.ts';
import { nameIn, Progress, saidOf } from '../parts/bays.tsx';
import { Card, Waiting } from '../parts/common.tsx';
import {
  type Disk,
  diskState,
  type MachineDisk,
  type Pool,
  PoolState,
  readDisks,
  readPools,
  type Scan,
} from '../parts/pools.tsx';
import { Preview, planOf, type Step } from '../parts/preview.tsx';
import { Refused } from '../parts/refused.tsx';
import { useWatched } from '../parts/resilver.ts';

const stages = ['The failed disk', 'Pull it', 'The new disk', 'Check and replace', 'Filling'] as const;

/** A replacement, one step after the other. */
export default function ReplacePage({ place: { words } }: { place: Place }) {
  const pools = useLive('pools', ['machine'], readPools);
  const disks = useLive('disks', ['machine'], readDisks);
  useWatched(pools.value ?? [], pools.again);
  const pool = pools.value?.find(({ name }) => name === words.get('pool'));
  if (pool === undefined || disks.value === undefined)
    return (
      <Waiting
        refused={pools.refused ?? disks.refused ?? (pools.value === undefined ? undefined : 'There is no such pool.')}
        what="the disks"
      />
    );
  return <Walk pool={pool} pools={pools.value ?? []} disks={disks.value} first={words.get('disk') ?? ''} />;
}

interface WalkProps {
  readonly pool: Pool;
  readonly pools: readonly Pool[];
  readonly disks: readonly MachineDisk[];
  readonly first: string;
}

function Walk({ pool, pools, disks, first }: WalkProps) {
  const members = pool.disks.filter(({ isSpare, isStandIn }) => !isSpare && !isStandIn);
  const failed = members.find((one) => diskState(one) === 'bad');
  // The choice stays what it was when the disk leaves the pool at the end.
  const old = useSignal(members.find(({ name }) => name === first) ?? failed);
  const fresh = useSignal<MachineDisk | undefined>(undefined);
  const stage = useSignal(0);
  const heading = useRef<HTMLHeadingElement>(null);
  const isFirst = useRef(true);
  // Before the page is drawn: later it would take the focus from what a person has reached by then.
  useLayoutEffect(() => {
    if (!isFirst.current) heading.current?.focus();
    isFirst.current = false;
  }, [stage.value]);
  const form = useLive('form of volumes', [], () => formOf('storage/volume'));
  const title = stages[stage.value] ?? '';
  return (
    <>
      <div class="row top">
        <a href={link('storage', 'pool', { name: pool.name })}>{pool.name}</a>
        <h1>Replace a disk</h1>
        <PoolState pool={pool} />
      </div>
      <ol class="stages" aria-label="Steps">
        {stages.map((one, index) => (
          <li key={one} aria-current={index === stage.value ? 'step' : undefined}>
            {one}
          </li>
        ))}
      </ol>
      <div class="walk">
        <h2 ref={heading} tabIndex={-1} class="unseen">
          Step {stage.value + 1} of {stages.length}: {title}
        </h2>
        {stage.value === 0 && (
          <Card title="Which disk is to be replaced?">
            <Picks
              name="old"
              label="Disks of the pool"
              chosen={old.value?.name}
              picks={members.map((disk) => ({
                key: disk.name,
                beside: <DiskWords disk={disk} />,
                choose: () => (old.value = disk),
              }))}
            />
            <Buttons {...{ stage }} next={old.value !== undefined} />
          </Card>
        )}
        {stage.value === 1 && old.value !== undefined && (
          <Card title={`Pull ${old.value.name} and put in the new disk`}>
            <WhichOne disk={old.value} {...{ pools, disks }} />
            <Buttons {...{ stage }} next={true} />
          </Card>
        )}
        {stage.value === 2 && old.value !== undefined && (
          <Card title="Which disk takes its place?">
            <NewDisk {...{ pool, pools, disks, fresh }} old={old.value} />
            <Buttons {...{ stage }} next={fresh.value !== undefined} />
          </Card>
        )}
        {stage.value === 3 && old.value !== undefined && fresh.value !== undefined && (
          <Check
            {...{ pool, stage }}
            old={old.value}
            fresh={fresh.value}
            command={(body) =>
              form.value === undefined ? '' : asCommand(form.value, 'replace', pool.name, body, form.value.fields)
            }
          />
        )}
        {stage.value === 4 && old.value !== undefined && <Filling pool={pool} old={old.value} fresh={fresh.value} />}
      </div>
    </>
  );
}

interface Stage {
  readonly stage: { value: number };
}

function Buttons({ stage, next }: Stage & { readonly next: boolean }) {
  return (
    <div class="row end">
      {stage.value > 0 && (
        <button type="button" onClick={() => (stage.value -= 1)}>
          Back
        </button>
      )}
      <button type="button" class="primary" disabled={!next} onClick={() => (stage.value += 1)}>
        Next
      </button>
    </div>
  );
}

interface Pick {
  readonly key: string;
  readonly beside: ComponentChildren;
  /** Why it cannot be chosen. */
  readonly lacks?: string | undefined;
  choose(): void;
}

function Picks({
  name,
  label,
  chosen,
  picks,
}: {
  name: string;
  label: string;
  chosen: string | undefined;
  picks: readonly Pick[];
}) {
  return (
    <fieldset class="picks">
      <legend class="unseen">{label}</legend>
      {picks.map(({ key, beside, lacks, choose }) => (
        <label key={key} class="pick">
          <input type="radio" name={name} checked={chosen === key} disabled={lacks !== undefined} onChange={choose} />
          <b>{key}</b>
          <span class="soft">
            {beside}
            {lacks !== undefined && <> · {lacks}</>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

function DiskWords({ disk }: { disk: Disk }) {
  const state = diskState(disk);
  return (
    <>
      <span class={state === 'ok' ? '' : state}>{saidOf(disk)}</span> · {disk.group} ·{' '}
      {disk.machine === undefined
        ? nameIn(disk.label)
        : `${bytes(disk.machine.size)}, serial number ${disk.machine.serial || 'unknown'}`}
    </>
  );
}

interface WhichOneProps extends Omit<WalkProps, 'pool' | 'first'> {
  readonly disk: Disk;
}

/**
 * How to find the disk in the machine. One that does not answer cannot be asked for its serial number, so all others are
 * shown: also those of other pools and those of none.
 */
function WhichOne({ disk, pools, disks }: WhichOneProps) {
  const { machine, name } = disk;
  if (machine !== undefined)
    return (
      <>
        <dl class="state">
          <div>
            <dt>Serial number</dt>
            <dd>
              <b>{machine.serial || 'none'}</b>
            </dd>
          </div>
          <div>
            <dt>Bay</dt>
            <dd>{machine.slot ?? 'the machine does not report it'}</dd>
          </div>
          <div>
            <dt>Size</dt>
            <dd>{bytes(machine.size)}</dd>
          </div>
        </dl>
        <p class="help">
          The serial number is printed on the disk. If there is a free bay, put the new disk there and pull {name} when
          the new one is filled: the pool is never without it.
        </p>
      </>
    );
  // Names of disks that do not answer may be those of others by now, so these are told apart by their labels.
  const members = pools.flatMap((pool) => pool.disks.map((one) => ({ ...one, pool: pool.name })));
  const poolOf = new Map(members.flatMap((one) => (one.machine === undefined ? [] : [[one.name, one.pool]])));
  const silent = members.filter((one) => one.machine === undefined && one.label !== disk.label);
  return (
    <>
      <p>
        {name} does not answer, so its serial number cannot be read. The pool knows it as <code>{disk.label}</code>.
      </p>
      {silent.length > 0 && (
        <p class="bad">
          {silent.map((one) => one.name).join(', ')} {silent.length === 1 ? 'does' : 'do'} not answer either. The
          appliance cannot tell them apart: compare the label above with the disks before you pull one.
        </p>
      )}
      <p>Pull a disk only if its serial number is none of these: they answer.</p>
      <table>
        <thead>
          <tr>
            <th>Leave in</th>
            <th>Serial number</th>
            <th class="num">Size</th>
          </tr>
        </thead>
        <tbody>
          {disks.map((known) => (
            <tr key={known.name}>
              <td>
                {known.name} <span class="soft">{poolOf.get(known.name) ?? ''}</span>
              </td>
              <td>
                <b>{known.serial || 'none'}</b>
              </td>
              <td class="num">{bytes(known.size)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

interface NewDiskProps extends Omit<WalkProps, 'first'> {
  readonly old: Disk;
  readonly fresh: { value: MachineDisk | undefined };
}

/** The disks that can take the place: those of no pool, and the spares of this one. */
function NewDisk({ pool, pools, disks, old, fresh }: NewDiskProps) {
  const taken = new Set(pools.flatMap((one) => one.disks.filter(({ isSpare }) => !isSpare).map(({ name }) => name)));
  const spares = new Map(pools.flatMap((one) => one.disks.filter(({ isSpare }) => isSpare).map((d) => [d.name, one])));
  const needed = old.machine?.size ?? 0;
  const free = disks.filter(({ name }) => !taken.has(name) && (spares.get(name) ?? pool) === pool);
  if (free.length === 0) return <p>There is no free disk. Put one in: it appears here by itself.</p>;
  return (
    <>
      <Picks
        name="new"
        label="Free disks"
        chosen={fresh.value?.name}
        picks={free.map((disk) => ({
          key: disk.name,
          lacks: disk.size < needed ? `too small: ${bytes(needed)} are needed` : undefined,
          beside: (
            <>
              {bytes(disk.size)}, serial number {disk.serial || 'unknown'}
              {spares.has(disk.name) && ' · spare of this pool'}
            </>
          ),
          choose: () => (fresh.value = disk),
        }))}
      />
      <p class="help">A disk that is put in appears here by itself.</p>
    </>
  );
}

interface CheckProps extends Stage {
  readonly pool: Pool;
  readonly old: Disk;
  readonly fresh: MachineDisk;
  command(body: Readonly<Record<string, unknown>>): string;
}

function Check({ pool, old, fresh, stage, command }: CheckProps) {
  const force = useSignal(false);
  const refusal = useSignal<Refusal | undefined>(undefined);
  const steps = useSignal<readonly Step[] | undefined>(undefined);
  const isSending = useSignal(false);
  const body = {
    label: old.label || old.name,
    replace_disk: fresh.name,
    ...(force.value && { force: true }),
  };
  const address = `/api/v1.0/storage/volume/${encodeURIComponent(pool.name)}/replace/`;
  const asked: Asked = { method: 'POST', address, body, etag: undefined };
  useEffect(() => {
    planOf(asked).then(
      (planned) => (steps.value = planned),
      (error) => (refusal.value = refusalOf(error)),
    );
  }, []);
  const send = async () => {
    isSending.value = true;
    refusal.value = undefined;
    try {
      await client.request('POST', address, { body });
      notify(`${fresh.name} takes the place of ${old.name}.`);
      touch('machine', 'jobs');
      stage.value += 1;
    } catch (error) {
      refusal.value = refusalOf(error);
    } finally {
      isSending.value = false;
    }
  };
  const isFull = refusal.value?.fields['force'] !== undefined || force.value;
  return (
    <div class="cards sheet">
      <Card title={`${fresh.name} takes the place of ${old.name}`}>
        <dl class="state">
          <div>
            <dt>Goes</dt>
            <dd>
              {old.name}, {old.machine === undefined ? saidOf(old) : old.machine.serial}
            </dd>
          </div>
          <div>
            <dt>Comes</dt>
            <dd>
              {fresh.name} {fresh.serial}, {bytes(fresh.size)}
            </dd>
          </div>
        </dl>
        <p class="help">The pool stays in use while the new disk is filled. What was on {fresh.name} is gone then.</p>
        {isFull && (
          <label class="inline bad">
            <input
              type="checkbox"
              checked={force.value}
              onChange={(event) => (force.value = event.currentTarget.checked)}
            />
            Overwrite what is on {fresh.name}
          </label>
        )}
      </Card>
      <Preview asked={asked} shown={body} command={command(body)} steps={steps.value} isOld={false}>
        <Refused refusal={refusal.value} known={[]} />
        <div class="row end">
          <button type="button" class="primary" disabled={isSending.value} onClick={() => void send()}>
            Replace {old.name}
          </button>
          <button type="button" onClick={() => (stage.value -= 1)}>
            Back
          </button>
        </div>
      </Preview>
    </div>
  );
}

/** How far the new disk is filled, and what is left to do then. */
function Filling({ pool, old, fresh }: { pool: Pool; old: Disk; fresh: MachineDisk | undefined }) {
  const { scan, disks } = pool;
  const isThere = disks.some(({ name, label }) => name === old.name && label === old.label);
  const isRunning = scan?.state === 'running';
  if (isRunning || (isThere && scan?.state !== 'finished')) return <Running {...{ pool, old, scan }} />;
  if (isThere)
    return (
      <Card title={`${old.name} is still part of ${pool.name}`}>
        <p class="bad">
          {scan?.errors
            ? 'The resilver has ended with errors.'
            : 'The new disk is filled, but the old one has not left.'}{' '}
          Look at the status of the pool.
        </p>
        <Back pool={pool.name} />
      </Card>
    );
  return (
    <Card title="Done">
      <p class="ok">
        {fresh?.name} has taken the place of {old.name}. {pool.name} is {pool.status.toLowerCase()}.
      </p>
      <p class="help">
        {old.machine === undefined
          ? 'The old disk can go. A spare that stood in for it is ready again.'
          : `${old.name} with the serial number ${old.machine.serial || 'unknown'} can be pulled now.`}
      </p>
      <Back pool={pool.name} />
    </Card>
  );
}

function Running({ pool, old, scan }: { pool: Pool; old: Disk; scan: Scan | undefined }) {
  return (
    <Card title={`${old.name} is being replaced`}>
      {scan === undefined ? (
        <p class="soft">The appliance begins …</p>
      ) : (
        <Progress scan={scan} what="The new disk is filled" />
      )}
      <p class="help">This page can be closed: the pool goes on by itself, and shows there how far it is.</p>
      <Back pool={pool.name} />
    </Card>
  );
}

const Back = ({ pool }: { pool: string }) => (
  <div class="row end">
    <a class="btn" href={link('storage', 'pool', { name: pool })}>
      To the pool
    </a>
  </div>
);
