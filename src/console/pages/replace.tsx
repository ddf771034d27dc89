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
import { PageHead } from '../parts/page-head.tsx';
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
import { Rows } from '../parts/rows.tsx';
import * as t from '../texts/pages/replace.ts';

const stages = [t.theFailedDisk, t.pullIt, t.theNewDisk, t.checkAndReplace, t.filling] as const;

/** A replacement, one step after the other. */
export default function ReplacePage({ place: { words } }: { place: Place }) {
  const pools = useLive('pools', ['machine'], readPools);
  const disks = useLive('disks', ['machine'], readDisks);
  useWatched(pools.value ?? [], pools.again);
  const pool = pools.value?.find(({ name }) => name === words.get('pool'));
  if (pool === undefined || disks.value === undefined)
    return (
      <Waiting
        refused={pools.refused ?? disks.refused ?? (pools.value === undefined ? undefined : t.thereIsNoSuchPool)}
        what={t.theDisks}
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
      <PageHead
        up={[link('storage', 'pool', { name: pool.name }), pool.name]}
        title={t.replaceADisk}
        state={<PoolState pool={pool} />}
      />
      <ol class="stages" aria-label={t.steps}>
        {stages.map((one, index) => (
          <li key={one} aria-current={index === stage.value ? 'step' : undefined}>
            {one}
          </li>
        ))}
      </ol>
      <div class="walk">
        <h2 ref={heading} tabIndex={-1} class="unseen">
          {t.stepOf(stage.value + 1, stages.length, title)}
        </h2>
        {stage.value === 0 && (
          <Card title={t.whichDiskIsToBeReplaced}>
            <Picks
              name="old"
              label={t.disksOfThePool}
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
          <Card title={t.pullAndPutInTheNew(old.value.name)}>
            <WhichOne disk={old.value} {...{ pools, disks }} />
            <Buttons {...{ stage }} next={true} />
          </Card>
        )}
        {stage.value === 2 && old.value !== undefined && (
          <Card title={t.whichDiskTakesItsPlace}>
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
          {t.back}
        </button>
      )}
      <button type="button" class="primary" disabled={!next} onClick={() => (stage.value += 1)}>
        {t.next}
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
        : t.sizeAndSerialNumber(bytes(disk.machine.size), disk.machine.serial || 'unknown')}
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
            <dt>{t.serialNumber}</dt>
            <dd>
              <b>{machine.serial || t.none}</b>
            </dd>
          </div>
          <div>
            <dt>{t.bay}</dt>
            <dd>{machine.slot ?? t.theMachineDoesNotReportIt}</dd>
          </div>
          <div>
            <dt>{t.size}</dt>
            <dd>{bytes(machine.size)}</dd>
          </div>
        </dl>
        <p class="help">{t.theSerialNumberIsPrintedOn(name)}</p>
      </>
    );
  // Names of disks that do not answer may be those of others by now, so these are told apart by their labels.
  const members = pools.flatMap((pool) => pool.disks.map((one) => ({ ...one, pool: pool.name })));
  const poolOf = new Map(members.flatMap((one) => (one.machine === undefined ? [] : [[one.name, one.pool]])));
  const silent = members.filter((one) => one.machine === undefined && one.label !== disk.label);
  return (
    <>
      <p>{t.doesNotAnswerSoItsSerial(name, <code>{disk.label}</code>)}</p>
      {silent.length > 0 && (
        <p class="bad">
          {t.notAnswerEitherTheApplianceCannot(
            silent.map((one) => one.name).join(', '),
            silent.length === 1 ? t.does : t.doIt,
          )}
        </p>
      )}
      <p>{t.pullADiskOnlyIfIts}</p>
      <Rows
        label={t.leaveIn}
        rows={disks}
        keyOf={(known) => known.name}
        columns={[
          {
            title: t.leaveIn,
            cell: (known) => (
              <>
                {known.name} <span class="soft">{poolOf.get(known.name) ?? ''}</span>
              </>
            ),
          },
          { title: t.serialNumber, cell: (known) => <b>{known.serial || t.none}</b> },
          { title: t.size, isNumber: true, cell: (known) => bytes(known.size) },
        ]}
      />
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
  if (free.length === 0) return <p>{t.thereIsNoFreeDiskPut}</p>;
  return (
    <>
      <Picks
        name="new"
        label={t.freeDisks}
        chosen={fresh.value?.name}
        picks={free.map((disk) => ({
          key: disk.name,
          lacks: disk.size < needed ? t.tooSmallAreNeeded(bytes(needed)) : undefined,
          beside: (
            <>
              {t.sizeAndSerialNumber(bytes(disk.size), disk.serial || t.unknown)}
              {spares.has(disk.name) && t.spareOfThisPool}
            </>
          ),
          choose: () => (fresh.value = disk),
        }))}
      />
      <p class="help">{t.aDiskThatIsPutIn}</p>
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
      notify(t.takesThePlaceOf(fresh.name, old.name));
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
      <Card title={t.titleOfReplacement(fresh.name, old.name)}>
        <dl class="state">
          <div>
            <dt>{t.goes}</dt>
            <dd>
              {old.name}, {old.machine === undefined ? saidOf(old) : old.machine.serial}
            </dd>
          </div>
          <div>
            <dt>{t.comes}</dt>
            <dd>
              {fresh.name} {fresh.serial}, {bytes(fresh.size)}
            </dd>
          </div>
        </dl>
        <p class="help">{t.thePoolStaysInUseWhile(fresh.name)}</p>
        {isFull && (
          <label class="inline bad">
            <input
              type="checkbox"
              checked={force.value}
              onChange={(event) => (force.value = event.currentTarget.checked)}
            />
            {t.overwriteWhatIsOn(fresh.name)}
          </label>
        )}
      </Card>
      <Preview asked={asked} shown={body} command={command(body)} steps={steps.value} isOld={false}>
        <Refused refusal={refusal.value} known={[]} />
        <div class="row end">
          <button type="button" class="primary" disabled={isSending.value} onClick={() => void send()}>
            {t.replace(old.name)}
          </button>
          <button type="button" onClick={() => (stage.value -= 1)}>
            {t.back}
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
      <Card title={t.isStillPartOf(old.name, pool.name)}>
        <p class="bad">
          {t.lookAtTheStatusOfThe(scan?.errors ? t.theResilverHasEndedWithErrors : t.theNewDiskIsFilledBut)}
        </p>
        <Back pool={pool.name} />
      </Card>
    );
  return (
    <Card title={t.done}>
      <p class="ok">{t.hasTakenThePlaceOfIs(fresh?.name, old.name, pool.name, pool.status.toLowerCase())}</p>
      <p class="help">
        {old.machine === undefined
          ? t.theOldDiskCanGoA
          : t.withTheSerialNumberCanBe(old.name, old.machine.serial || 'unknown')}
      </p>
      <Back pool={pool.name} />
    </Card>
  );
}

function Running({ pool, old, scan }: { pool: Pool; old: Disk; scan: Scan | undefined }) {
  return (
    <Card title={t.isBeingReplaced(old.name)}>
      {scan === undefined ? (
        <p class="soft">{t.theApplianceBegins}</p>
      ) : (
        <Progress scan={scan} what={t.theNewDiskIsFilled} />
      )}
      <p class="help">{t.thisPageCanBeClosedThe}</p>
      <Back pool={pool.name} />
    </Card>
  );
}

const Back = ({ pool }: { pool: string }) => (
  <div class="row end">
    <a class="btn" href={link('storage', 'pool', { name: pool })}>
      {t.toThePool}
    </a>
  </div>
);
