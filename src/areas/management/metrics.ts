import { invalid } from '../../engine/declare/errors.ts';
import { integer, optional, required, text } from '../../engine/declare/fields.ts';
import { type HistoryRow, middle } from '../../engine/declare/history.ts';
import { type OperationCall, operation, section } from '../../engine/declare/operation.ts';
import {
  choiceOf,
  integerOf,
  listOf,
  numberOf,
  objectOf,
  orNull,
  stringOf,
  timeOf,
} from '../../engine/declare/schema.ts';
import type { History, HistorySpan } from '../../engine/services.ts';
import { collected } from '../../lib/slices.ts';
import { quote } from '../../lib/text.ts';
import { forecastOf, paceDays } from '../history/forecast.ts';
import { nameOf, seriesOf, subjects, type Unit, units } from '../history/series.ts';
import { keyOf, surroundingsOf } from '../history/surroundings.ts';

const second = 1000;
const day = 86_400_000;
/** Points of one series that an answer has if the request names no step. */
const usualPoints = 400;
/** Steps of a request, and points of all its series: more would be an answer of megabytes, written in one go. */
const mostSteps = 5000;
const mostPoints = 25_000;
const mostSeries = 50;

const unitOf = choiceOf(units, 'Unit of its values.');
const seriesName = stringOf('Name of the series, such as pool/tank/used.');

const time = (description: string, initial: string) => text({ description, max: 40, initial });

export const metrics = section('metrics', 'What was measured, kept for five years, and what follows from it.', [
  operation({
    method: 'GET',
    path: 'metrics/series',
    name: 'listSeries',
    title: 'Lists the series that were measured.',
    answer: listOf(
      objectOf('Series', {
        series: seriesName,
        subject: choiceOf(subjects, 'Kind of what is measured.'),
        name: stringOf(
          'Name of the pool, interface or service; serial number of the disk, or its name without one; empty for the system.',
        ),
        device: stringOf('Current name of the disk; empty for other series and for a disk that is not attached.'),
        metric: stringOf('What is measured of it.'),
        unit: unitOf,
        last: timeOf('Day in which it was last measured, or the minute if it is not stored yet.'),
      }),
    ),
    list: { key: ['series'] },
    run({ history, engine }) {
      const devices = new Map(
        engine.world.facts.disks.map(({ name, serial }) => [nameOf('disk', keyOf(name, serial), ''), name]),
      );
      return [...history.series()]
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .flatMap(([series, last]) => {
          const found = seriesOf(series);
          if (found === undefined) return [];
          const { subject, of: name, metric, unit } = found;
          const device = devices.get(nameOf(subject, name, '')) ?? '';
          return [{ series, subject, name, device, metric, unit, last: timeText(last) }];
        });
    },
  }),
  operation({
    method: 'GET',
    path: 'metrics/history',
    name: 'getHistory',
    title: 'Shows what was measured in a time, in steps. A step in which nothing was measured is missing.',
    query: {
      series: required(text({ description: 'Names of up to 50 series, separated by commas.', max: 5000 })),
      from: time('Beginning, as a time or as the age -90m, -24h, -7d or -5y.', '-24h'),
      to: time('End, as a time or as an age.', '-0m'),
      step: optional(
        integer({
          description: 'Seconds of one step; chosen by the length of the time when not sent.',
          min: 60,
          max: 31_622_400,
        }),
      ),
    },
    answer: objectOf('History', {
      from: timeOf('Beginning of the first step.'),
      to: timeOf('End.'),
      step: integerOf('Seconds of one step: as requested, or longer where the history is coarser.'),
      series: listOf(
        objectOf('HistorySeries', {
          series: seriesName,
          unit: unitOf,
          points: listOf(
            objectOf('HistoryPoint', {
              at: timeOf('Beginning of the step.'),
              mean: numberOf('Mean of the values.'),
              min: numberOf('Lowest value.'),
              max: numberOf('Highest value.'),
            }),
            'The steps with values, the earliest first.',
          ),
        }),
        'The series in the order of the request.',
      ),
    }),
    example: { query: { series: 'system/memory', from: '-1h' } },
    async run({ history, query, operations }) {
      const wanted = readNames(query.series, history);
      const span = readSpan(query, { history, now: operations.now(), series: wanted.length });
      const rows = await history.read(
        wanted.map(({ name }) => name),
        span,
      );
      return {
        from: timeText(span.from),
        to: timeText(span.to),
        step: span.step / second,
        series: await collected(answered(wanted, rows)),
      };
    },
  }),
  operation({
    method: 'GET',
    path: 'metrics/forecast',
    name: 'listForecasts',
    title: `Lists when each pool is full at the pace of the last ${paceDays} days.`,
    answer: listOf(
      objectOf('Forecast', {
        pool: stringOf('Name of the pool.'),
        used: integerOf('Bytes that are used.'),
        size: integerOf('Bytes that can be used.'),
        days: integerOf('Days of the last weeks from which the pace is known.'),
        per_day: orNull(integerOf('Bytes by which it grows in a day; null if that is known of too few days.')),
        full_at: orNull(
          timeOf('When it is full; null if the pace is not known, if it does not grow, or if that takes five years.'),
        ),
      }),
    ),
    list: { key: ['pool'] },
    run: (call) => forecasts(call),
  }),
]);

/** The points of each series, one series after the other. */
function* answered(wanted: readonly { readonly name: string; readonly unit: Unit }[], rows: readonly HistoryRow[]) {
  const times = new Map(rows.map(({ at }) => [at, timeText(at)]));
  for (const { name, unit } of wanted)
    yield {
      series: name,
      unit,
      points: rows.flatMap(({ at, tallies }) => {
        const tally = tallies.get(name);
        if (tally === undefined) return [];
        const { count, sum, min, max } = tally;
        return [{ at: times.get(at), mean: rounded(sum / count), min: rounded(min), max: rounded(max) }];
      }),
    };
}

async function forecasts({ history, engine, operations }: Pick<OperationCall, 'history' | 'engine' | 'operations'>) {
  const now = operations.now();
  const { pools } = surroundingsOf(engine.world);
  const found: unknown[] = [];
  for (const { name, used, size } of pools) {
    if (used === undefined || size === undefined) continue;
    const series = nameOf('pool', name, 'used');
    const span = { from: now - paceDays * day, to: now, step: middle.step * 4 };
    const points = (await history.read([series], span)).flatMap(({ at, tallies }) => {
      const tally = tallies.get(series);
      return tally === undefined ? [] : [{ at, value: tally.sum / tally.count }];
    });
    const { perDay, days, fullAt } = forecastOf(points, { used, size, now });
    found.push({
      ...{ pool: name, used, size, days },
      per_day: perDay === undefined ? null : Math.round(perDay),
      full_at: fullAt === undefined ? null : timeText(fullAt),
    });
  }
  return found;
}

function readNames(sent: string, history: History) {
  const names = [...new Set(sent.split(',').map((name) => name.trim()))].filter((name) => name !== '');
  if (names.length === 0 || names.length > mostSeries)
    throw invalid({ series: [`Expected between 1 and ${mostSeries} names of series, got ${names.length}.`] });
  const known = history.series();
  return names.map((name) => {
    const found = seriesOf(name);
    // Those of the system are there on every machine, also before the first sample.
    if (found === undefined || !(found.subject === 'system' || known.has(name)))
      throw invalid({
        series: [`There is no series ${quote(name)}; GET /api/holdfast/v1/metrics/series lists those that exist.`],
      });
    return { name, unit: found.unit };
  });
}

interface SentSpan {
  readonly from: string;
  readonly to: string;
  readonly step: number | undefined;
}

/** The span that is answered: its steps are as long as the tier needs, and begin at a multiple of their length. */
function readSpan(
  sent: SentSpan,
  { history, now, series }: { readonly history: History; readonly now: number; readonly series: number },
): HistorySpan {
  const from = readTime('from', sent.from, now);
  const to = readTime('to', sent.to, now);
  if (from >= to) throw invalid({ from: [`Expected a time before the end ${timeText(to)}, got ${timeText(from)}.`] });
  const asked = (sent.step ?? Math.max(60, Math.ceil((to - from) / usualPoints / second))) * second;
  const fine = history.tierOf(from, asked).step;
  const step = Math.ceil(asked / fine) * fine;
  const steps = Math.ceil((to - from) / step);
  const most = Math.min(mostSteps, Math.floor(mostPoints / series));
  if (steps > most)
    throw invalid({
      step: [
        `Expected at most ${most} steps of ${series} series, got ${steps}. Send a longer step, a later beginning or fewer series.`,
      ],
    });
  return { from: Math.floor(from / step) * step, to, step };
}

const ages: Readonly<Record<string, number>> = { m: 60 * second, h: 3600 * second, d: day, w: 7 * day, y: 366 * day };

/** Years that a time may have, so that no arithmetic with it fails. */
const [firstTime, lastTime] = [Date.UTC(1970, 0), Date.UTC(2200, 0)];

function readTime(field: 'from' | 'to', sent: string, now: number): number {
  const [, number, unit = ''] = /^-(\d{1,6})([mhdwy])$/.exec(sent) ?? [];
  const isTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(sent);
  const at = number !== undefined ? now - Number(number) * (ages[unit] ?? 0) : isTime ? Date.parse(sent) : Number.NaN;
  if (!(at >= firstTime && at <= lastTime))
    throw invalid({
      [field]: [`Expected a time such as 2026-01-31T06:00:00Z or an age such as -24h, got ${quote(sent)}.`],
    });
  return at;
}

const timeText = (at: number): string => new Date(at).toISOString();

/** Six digits are more than any measurement has; bytes are whole. */
const rounded = (value: number): number => (Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toPrecision(6)));
