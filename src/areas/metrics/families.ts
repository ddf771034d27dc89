/**
 * Every family of metrics that `GET /metrics` has, one value each. Pools, datasets and disks have the names and labels
 * of the exporters whose dashboards and rules people already use (zfs_exporter, smartctl_exporter); what only Holdfast
 * knows begins with `holdfast_`. No label grows without an end: no client address, no path, no snapshot.
 */
import type { Fields } from '../../engine/declare/fields.ts';
import { severities } from '../../engine/declare/problem.ts';
import type { Collection } from '../../engine/declare/resource.ts';
import { nextRun } from '../../engine/declare/schedule.ts';
import type { Health } from '../../host/ports/zfs.ts';
import type { Family, Sample } from '../../lib/exposition.ts';
import { certificate } from '../certificates/certificate.ts';
import { seriesOf } from '../history/series.ts';
import { services } from '../services/index.ts';
import { isOn } from '../services/services.ts';
import { replicationTask } from '../storage/replication.ts';
import { scrubTask } from '../storage/scrub.ts';
import { snapshotTask } from '../storage/task.ts';
import { rsyncTask } from '../tasks/rsync.ts';
import { jobKind } from './job-counts.ts';
import type { Known } from './known.ts';

type Metric = Family<Known>;

interface OverdueTask {
  readonly task: string;
  readonly overdue: number | undefined;
}

/** When records count as overdue, by the last successful run from which that was computed. */
const overdueTimes = new WeakMap<object, { readonly began: number; readonly overdue: number | undefined }>();

/** The tasks of a resource that have succeeded: they are overdue when the second run after that is due. */
function* overdueOf<F extends Fields>(of: Collection<F>, { view, jobs, zone }: Known): Generator<OverdueTask> {
  const [main] = [of.scheduled ?? []].flat();
  for (const record of view.all(of)) {
    const task = `${of.path}/${record.id}`;
    const began = jobs.lastSuccessful.get(task)?.began;
    const when = main?.when(record);
    if (began === undefined || when === undefined) continue;
    const known = overdueTimes.get(record);
    if (known?.began === began) {
      yield { task, overdue: known.overdue };
      continue;
    }
    const next = nextRun(when, began, zone);
    const overdue = next === undefined ? undefined : nextRun(when, next, zone);
    overdueTimes.set(record, { began, overdue });
    yield { task, overdue };
  }
}

const one = (value: number): readonly Sample[] => [{ labels: {}, value }];

/** A family with one sample of each item; none for an item whose value is not known. */
function each<T>(
  head: Omit<Metric, 'read'>,
  items: (known: Known) => Iterable<T>,
  sampleOf: (item: T, known: Known) => { readonly labels: Sample['labels']; readonly value: number | undefined },
): Metric {
  return Object.freeze({
    ...head,
    *read(known: Known) {
      for (const item of items(known)) {
        const { labels, value } = sampleOf(item, known);
        if (value !== undefined) yield { labels, value };
      }
    },
  });
}

const gauge = (name: string, help: string, unit?: Metric['unit']): Omit<Metric, 'read'> => ({
  ...{ name, type: 'gauge', help },
  ...(unit && { unit }),
});
const counter = (name: string, help: string, unit?: Metric['unit']): Omit<Metric, 'read'> => ({
  ...gauge(name, help, unit),
  type: 'counter',
});
/** A name of others that ends with `_count`, which only histograms and summaries should have: it gets no type. */
const counted = (name: string, help: string): Omit<Metric, 'read'> => ({ ...gauge(name, help), type: 'unknown' });
const bytes = (name: string, help: string) => gauge(`${name}_bytes`, help, 'bytes');
const ratio = (name: string, help: string) => gauge(`${name}_ratio`, help, 'ratio');
const timestamp = (name: string, help: string) =>
  gauge(`${name}_timestamp_seconds`, `${help}, in seconds since 1970.`, 'seconds');

const healths: Readonly<Record<Health, number>> = {
  ONLINE: 0,
  DEGRADED: 1,
  FAULTED: 2,
  OFFLINE: 3,
  UNAVAIL: 4,
  REMOVED: 5,
  SUSPENDED: 6,
};

type Pool = Known['facts']['bootPool'] & {};
const poolsOf = ({ facts }: Known) => facts.storage.pools.values();

const ofPool = (head: Omit<Metric, 'read'>, figureOf: (pool: Pool) => number | undefined): Metric =>
  each(head, poolsOf, (pool) => ({ labels: { pool: pool.name }, value: figureOf(pool) }));

const pools: readonly Metric[] = [
  ofPool(bytes('zfs_pool_size', 'Size of the pool.'), ({ size }) => size),
  ofPool(bytes('zfs_pool_allocated', 'Space of the pool that is in use.'), ({ allocated }) => allocated),
  ofPool(bytes('zfs_pool_free', 'Space of the pool that is not in use.'), ({ free }) => free),
  ofPool(ratio('zfs_pool_capacity', 'Share of the pool that is in use, from 0 to 1.'), ({ size, allocated }) =>
    size > 0 ? allocated / size : undefined,
  ),
  ofPool(bytes('zfs_pool_freeing', 'Space of destroyed data that is not free yet.'), ({ figures }) => figures.freeing),
  ofPool(
    bytes('zfs_pool_leaked', 'Space that nothing refers to, and that never becomes free.'),
    ({ figures }) => figures.leaked,
  ),
  ofPool(
    ratio('zfs_pool_fragmentation', 'Fragmentation of the free space, from 0 to 1.'),
    ({ figures }) => figures.fragmentation,
  ),
  // The exporter shows reciprocals of what ZFS shows, so that they are from 0 to 1 like its other ratios.
  ofPool(
    ratio('zfs_pool_deduplication', 'Size of the data with deduplication by their size without it, from 0 to 1.'),
    ({ figures }) => 1 / figures.deduplication,
  ),
  ofPool(gauge('zfs_pool_readonly', 'Whether the pool is imported read-only: 1 if it is.'), ({ figures }) =>
    Number(figures.isReadonly),
  ),
  ofPool(
    gauge(
      'zfs_pool_health',
      'State of the pool: 0 ONLINE, 1 DEGRADED, 2 FAULTED, 3 OFFLINE, 4 UNAVAIL, 5 REMOVED, 6 SUSPENDED.',
    ),
    ({ health }) => healths[health],
  ),
  each(
    gauge('holdfast_pool_device_errors', 'Errors of a device of a pool since zpool clear or the import.'),
    function* ({ facts }) {
      // A spare in use is also a device of the group where it stands in.
      for (const { name: pool, groups } of facts.storage.pools.values())
        for (const { disk: device, errors } of groups.flatMap((group) => (group.kind === 'spare' ? [] : group.devices)))
          for (const type of ['read', 'write', 'checksum'] as const)
            yield { labels: { pool, device, type }, value: errors[type] };
    },
    (sample) => sample,
  ),
  ofPool(timestamp('holdfast_scrub_last_end', 'When the last scrub of the pool ended'), ({ scan }) =>
    scan?.kind === 'scrub' && scan.state === 'finished' ? scan.ended : undefined,
  ),
  ofPool(gauge('holdfast_resilver_running', 'Whether a resilver of the pool runs: 1 if it does.'), ({ scan }) =>
    Number(scan?.kind === 'resilver' && scan.state === 'running'),
  ),
];

type Dataset = Known['facts']['storage']['datasets'] extends ReadonlyMap<string, infer D> ? D : never;

/** The labels of a dataset, which ten families share. */
const datasetLabels = new WeakMap<Dataset, Sample['labels']>();

function labelsOf(dataset: Dataset): Sample['labels'] {
  const known = datasetLabels.get(dataset);
  if (known !== undefined) return known;
  const { name, kind } = dataset;
  const slash = name.indexOf('/');
  const labels = Object.freeze({ name, pool: slash === -1 ? name : name.slice(0, slash), type: kind });
  datasetLabels.set(dataset, labels);
  return labels;
}

const ofDataset = (
  head: Omit<Metric, 'read'>,
  figureOf: (dataset: Dataset, known: Known) => number | undefined,
): Metric =>
  each(
    head,
    ({ facts }) => facts.storage.datasets.values(),
    (dataset, known) => ({ labels: labelsOf(dataset), value: figureOf(dataset, known) }),
  );

/** A property that is a number of bytes, as `zfs get -p` prints it; undefined where the dataset has none. */
function bytesIn(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

const snapshotsOf = ({ name }: Dataset, { facts }: Known) => facts.storage.snapshots.summaryOf(name);

const datasets: readonly Metric[] = [
  ofDataset(bytes('zfs_dataset_used', 'Space that the dataset and all below it use.'), ({ used }) => used),
  ofDataset(bytes('zfs_dataset_available', 'Space that the dataset can still use.'), ({ available }) => available),
  ofDataset(bytes('zfs_dataset_referenced', 'Data that the dataset refers to.'), ({ referenced }) => referenced),
  ofDataset(
    bytes('zfs_dataset_logical_used', 'Size of the data of the dataset and all below it before compression.'),
    ({ figures }) => figures.logicalUsed,
  ),
  ofDataset(
    bytes('zfs_dataset_used_by_dataset', 'Space that the dataset itself uses.'),
    ({ figures }) => figures.usedByDataset,
  ),
  ofDataset(
    bytes('zfs_dataset_used_by_snapshot', 'Space that only snapshots of the dataset use.'),
    ({ figures }) => figures.usedBySnapshots,
  ),
  ofDataset(
    bytes('zfs_dataset_written', 'Data that was written since the newest snapshot of the dataset.'),
    ({ figures }) => figures.written,
  ),
  ofDataset(
    ratio('zfs_dataset_compression', 'Size of the data by their size before compression, from 0 to 1.'),
    ({ figures }) => 1 / figures.compression,
  ),
  ofDataset(bytes('zfs_dataset_quota', 'Quota of the dataset with all below it; 0 for none.'), ({ properties }) =>
    bytesIn(properties.quota),
  ),
  ofDataset(bytes('zfs_dataset_referenced_quota', 'Quota of the dataset alone; 0 for none.'), ({ properties }) =>
    bytesIn(properties.refquota),
  ),
  ofDataset(bytes('zfs_dataset_volume_size', 'Size of the volume.'), ({ kind, properties }) =>
    kind === 'volume' ? bytesIn(properties.volsize) : undefined,
  ),
  ofDataset(
    gauge('holdfast_dataset_snapshots', 'Number of snapshots of the dataset.'),
    (dataset, known) => snapshotsOf(dataset, known).count,
  ),
  ofDataset(
    timestamp('holdfast_snapshot_newest', 'When the newest snapshot of the dataset was made'),
    (dataset, known) => snapshotsOf(dataset, known).newest?.created,
  ),
];

type DiskHealth = Known['facts']['condition']['health'][number];

/** What disks report by SMART at the last look at their condition. Those that rested then have no sample. */
const ofHealth = (head: Omit<Metric, 'read'>, figureOf: (health: DiskHealth) => number | undefined): Metric =>
  each(
    head,
    ({ facts }) => facts.condition.health,
    (health) => ({ labels: { device: health.name }, value: health.isResting ? undefined : figureOf(health) }),
  );

const disks: readonly Metric[] = [
  each(
    gauge('smartctl_device', 'A disk of the machine; always 1.'),
    ({ facts }) => facts.disks,
    ({ name: device, model: model_name, serial: serial_number }) => ({
      labels: { device, model_name, serial_number },
      value: 1,
    }),
  ),
  each(
    bytes('smartctl_device_capacity', 'Size of the disk.'),
    ({ facts }) => facts.disks,
    ({ name: device, size }) => ({ labels: { device }, value: size }),
  ),
  ofHealth(
    gauge(
      'smartctl_device_smart_status',
      'Whether the disk passes its own SMART assessment: 1 if it does, 0 if it fails.',
    ),
    ({ failing }) => (failing ? 0 : 1),
  ),
  each(
    gauge('smartctl_device_temperature', 'Temperature of the disk in degrees Celsius, unless it rests.'),
    ({ facts }) => facts.condition.health,
    ({ name: device, temperature: value }) => ({ labels: { device, temperature_type: 'current' }, value }),
  ),
  ofHealth(
    gauge('smartctl_device_percentage_used', 'Percentage of the rated writes that the disk has used up.'),
    ({ wear }) => wear,
  ),
  ofHealth(gauge('smartctl_device_power_on_seconds', 'Time that the disk was powered on.', 'seconds'), ({ hours }) =>
    hours === undefined ? undefined : hours * 3600,
  ),
  ofHealth(
    gauge('smartctl_device_media_errors', 'Number of errors of the medium that an NVMe disk has counted.'),
    ({ mediaErrors }) => mediaErrors,
  ),
  ofHealth(
    gauge('smartctl_device_available_spare', 'Percentage of the spare blocks of an NVMe disk that is left.'),
    ({ spare }) => spare,
  ),
  ofHealth(
    counted('smartctl_device_error_log_count', 'Number of entries in the error log of the disk.'),
    ({ loggedErrors }) => loggedErrors,
  ),
  ofHealth(
    counted('smartctl_device_self_test_log_error_count', 'Number of self-tests in the log of the disk that failed.'),
    ({ failedTests }) => failedTests,
  ),
  each(
    gauge('smartctl_device_state', 'Whether the disk rested at the last look: 1 for standby, otherwise 0.'),
    ({ facts }) => facts.condition.health,
    ({ name: device, isResting }) => ({ labels: { device }, value: Number(isResting) }),
  ),
  ofHealth(
    gauge('holdfast_disk_bad_sectors', 'Number of sectors that the disk could not read.'),
    ({ badSectors }) => badSectors,
  ),
];

const configured: readonly Metric[] = [
  each(
    gauge('holdfast_service_enabled', 'Whether the service is switched on: 1 if it is.'),
    () => services,
    (service, { view }) => ({ labels: { service: service.name }, value: Number(isOn(view, service)) }),
  ),
  each(
    gauge(
      'holdfast_service_up',
      'Whether the service runs: 1 if it does, or if it is switched on and has nothing to serve yet.',
    ),
    () => services,
    (service, { view, facts }) => {
      const { isRunning } = service.look(facts, view);
      const waits = isOn(view, service) && !service.hasWork(view, facts);
      return {
        labels: { service: service.name },
        value: isRunning === undefined ? undefined : Number(isRunning || waits),
      };
    },
  ),
  each(
    gauge('holdfast_service_sessions', 'Connections to the TCP ports of a service that is switched on.'),
    ({ measured }) => measured,
    ([series, value]) => {
      const { subject, of: service } = seriesOf(series) ?? {};
      return { labels: { service }, value: subject === 'service' ? value : undefined };
    },
  ),
  each(
    timestamp('holdfast_certificate_expiry', 'When the certificate ends'),
    ({ view }) => view.all(certificate),
    ({ cert_name, cert_until }) => ({
      labels: { certificate: cert_name },
      value: cert_until === null ? undefined : Math.floor(Date.parse(`${cert_until} GMT`) / 1000),
    }),
  ),
  each(
    timestamp('holdfast_task_last_success', 'When the last successful run of the task ended'),
    ({ jobs }) => jobs.lastSuccessful,
    ([task, { ended }]) => ({ labels: { task }, value: ended / 1000 }),
  ),
  each(
    timestamp('holdfast_task_overdue', 'When the second run after the last successful run of the task is due'),
    function* (known) {
      yield* overdueOf(snapshotTask, known);
      yield* overdueOf(scrubTask, known);
      yield* overdueOf(rsyncTask, known);
    },
    ({ task, overdue }) => ({ labels: { task }, value: overdue === undefined ? undefined : overdue / 1000 }),
  ),
  each(
    gauge(
      'holdfast_replication_lag_seconds',
      'Seconds since the last successful replication began, while the source has newer snapshots; otherwise 0.',
      'seconds',
    ),
    ({ view }) => view.all(replicationTask).filter(({ repl_enabled }) => repl_enabled),
    ({ id, repl_filesystem }, { facts, jobs, now }) => {
      const task = `storage/replication/${id}`;
      const { newest } = facts.storage.snapshots.summaryOf(repl_filesystem);
      const began = jobs.lastSuccessful.get(task)?.began ?? (newest?.created ?? 0) * 1000;
      return {
        labels: { task },
        value: newest === undefined || newest.created * 1000 < began ? 0 : Math.max(0, (now - began) / 1000),
      };
    },
  ),
];

const daemon: readonly Metric[] = [
  {
    ...{ name: 'holdfast_build', type: 'info', help: 'The version of Holdfast; always 1.' },
    read: ({ version }) => [{ labels: { version }, value: 1 }],
  },
  each(
    gauge('holdfast_alerts', 'Number of problems at the last look, which is at most a minute old.'),
    () => severities,
    (severity, { condition }) => ({
      labels: { severity },
      value: condition.problems.filter((problem) => problem.severity === severity).length,
    }),
  ),
  each(
    gauge('holdfast_unit_degraded', 'Whether the configuration of the subsystem could not be applied: 1 if so.'),
    ({ condition }) => condition.subsystems,
    ({ subsystem: unit, isDegraded }) => ({ labels: { unit }, value: Number(isDegraded) }),
  ),
  {
    ...gauge('holdfast_drift_items', 'Number of subsystems that differed from the configuration when last inspected.'),
    read: ({ condition }) => one(condition.subsystems.filter(({ isDrifted }) => isDrifted).length),
  },
  {
    ...gauge('holdfast_job_running', 'Number of jobs that run, by kind.'),
    *read({ jobs, jobCounts }) {
      const running = Map.groupBy(jobs.unended, ({ subject }) => jobKind(subject));
      for (const kind of new Set([...jobCounts.counts.keys(), ...running.keys()]))
        yield { labels: { kind }, value: running.get(kind)?.length ?? 0 };
    },
  },
  {
    ...gauge('holdfast_job_duration_seconds', 'Time that ended jobs took since the start of the daemon.', 'seconds'),
    type: 'summary',
    *read({ jobCounts }) {
      for (const [kind, { runs, seconds }] of jobCounts.counts) {
        yield { suffix: '_sum', labels: { kind }, value: seconds };
        yield { suffix: '_count', labels: { kind }, value: runs };
      }
    },
  },
  each(
    counter('holdfast_job_failures', 'Number of jobs that failed since the start of the daemon.'),
    ({ jobCounts }) => new Set([...jobCounts.kinds, ...jobCounts.counts.keys()]),
    (kind, { jobCounts }) => ({ labels: { kind }, value: jobCounts.counts.get(kind)?.failures ?? 0 }),
  ),
  {
    ...gauge(
      'holdfast_change_wait_seconds',
      'Time from the request for a change until it was stored or refused, since the start of the daemon.',
      'seconds',
    ),
    type: 'histogram',
    read: ({ condition }) => condition.changes.samples(),
  },
  {
    ...gauge('holdfast_http_request_duration_seconds', 'Time of requests, since the start of the daemon.', 'seconds'),
    type: 'histogram',
    read: ({ requests }) => requests.samples(),
  },
  { ...gauge('holdfast_http_connections', 'Number of open connections.'), read: ({ connections }) => one(connections) },
  {
    ...counter('holdfast_stalls', 'How often the daemon computed for so long that requests had to wait.'),
    read: ({ eventLoop }) => one(eventLoop.stalls),
  },
  each(
    gauge('holdfast_facts_age_seconds', 'Age of the last complete look at this part of the machine.', 'seconds'),
    ({ condition }) => condition.seen,
    ([kind, at], { now }) => ({ labels: { kind }, value: Math.max(0, (now - at) / 1000) }),
  ),
  {
    ...counter('process_cpu_seconds', 'Processor time of the daemon.', 'seconds'),
    read() {
      const { user, system } = process.cpuUsage();
      return one((user + system) / 1e6);
    },
  },
  {
    ...bytes('process_resident_memory', 'Memory of the daemon.'),
    read: () => one(process.memoryUsage.rss()),
  },
  {
    ...gauge('process_start_time_seconds', 'When the daemon started, in seconds since 1970.', 'seconds'),
    read: () => one(Math.round(performance.timeOrigin / 1000)),
  },
];

export const families: readonly Metric[] = [...pools, ...datasets, ...disks, ...configured, ...daemon].map((family) =>
  Object.freeze(family),
);
