/** What the appliance measured, as charts: of all pools together, or of one. */
import { useEffect, useState } from 'preact/hooks';
import type { components } from '../../../clients/typescript/src/index.ts';
import { client } from '../base/client.ts';
import { now } from '../base/contact.ts';
import { bytes, count } from '../base/format.ts';
import { touch, useLive } from '../base/live.ts';
import * as t from '../texts/parts/measured.ts';
import { Chart, type Line, type Point } from './chart.tsx';
import { Card, Waiting } from './common.tsx';

type Forecast = components['schemas']['Forecast'];

const spans: Readonly<Record<string, string>> = {
  '-1h': t.lastHour,
  '-1d': t.lastDay,
  '-7d': t.lastWeek,
  '-31d': t.lastMonth,
  '-1y': t.lastYear,
  '-5y': t.lastFiveYears,
};
const minute = 60_000;
const day = 86_400_000;
/** Series that one request takes. */
const mostSeries = 50;

interface Measured {
  readonly from: number;
  readonly to: number;
  readonly step: number;
  readonly series: ReadonlyMap<string, readonly Point[]>;
  readonly forecasts: readonly Forecast[];
}

const ofPools = ['used', 'size', 'read', 'written', 'read_latency', 'write_latency'];

async function read(span: string, pool: string | undefined): Promise<Measured> {
  const [series, forecasts] = await Promise.all([
    client.get('/api/holdfast/v1/metrics/series', { query: { limit: 1000 } }),
    client.get('/api/holdfast/v1/metrics/forecast'),
  ]);
  const wanted = series
    .filter(({ subject, name, metric }) =>
      subject === 'pool'
        ? (pool === undefined || name === pool) && ofPools.includes(metric)
        : subject === 'disk' && metric === 'temperature',
    )
    .map((one) => one.series)
    .slice(0, mostSeries);
  const found = new Map<string, readonly Point[]>();
  if (wanted.length === 0) return { from: 0, to: 0, step: 0, series: found, forecasts };
  const history = await client.get('/api/holdfast/v1/metrics/history', {
    query: { series: wanted.join(','), from: span },
  });
  for (const { series: name, points } of history.series)
    found.set(
      name,
      points.map(({ at, mean }) => ({ at: Date.parse(at), value: mean })),
    );
  return {
    from: Date.parse(history.from),
    to: Date.parse(history.to),
    step: history.step * 1000,
    series: found,
    forecasts: forecasts.filter((one) => pool === undefined || one.pool === pool),
  };
}

/** Charts of capacity, throughput, latency and temperature; of one pool, or of all. */
export function MeasuredCharts({ pool }: { pool?: string }) {
  const [span, choose] = useState('-1d');
  const measured = useLive(`measured ${pool ?? ''} ${span}`, ['measured'], () => read(span, pool));
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && touch('measured'), minute);
    return () => clearInterval(timer);
  }, []);
  const id = `measured-${pool ?? 'all'}`;
  return (
    <Card
      title={t.measured}
      beside={
        <>
          <label class="unseen" for={id}>
            {t.time}
          </label>
          <select id={id} class="span" value={span} onChange={(event) => choose(event.currentTarget.value)}>
            {Object.entries(spans).map(([value, title]) => (
              <option key={value} value={value}>
                {title}
              </option>
            ))}
          </select>
        </>
      }
    >
      {measured.value === undefined ? (
        <Waiting refused={measured.refused} what={t.whatWasMeasured} />
      ) : measured.value.series.size === 0 ? (
        <p class="soft">{t.nothingWasMeasuredYetTheFirst}</p>
      ) : (
        <Charts measured={measured.value} />
      )}
    </Card>
  );
}

function Charts({ measured }: { measured: Measured }) {
  const { from, to, series, forecasts } = measured;
  const common = { from, to, now: now.value };
  const of = (metric: string) =>
    [...series].filter(([name]) => name.endsWith(`/${metric}`)).map(([, points]) => points);
  const sum = (metric: string) => together(of(metric), (a, b) => a + b);
  const most = (metric: string) => together(of(metric), Math.max);
  return (
    <div class="charts">
      {forecasts.map((one) => (
        <Capacity key={one.pool} forecast={one} measured={measured} />
      ))}
      <Chart
        {...common}
        title={t.throughput}
        shown={(value) => `${bytes(value)}/s`}
        lines={[
          { label: 'read', points: sum('read') },
          { label: 'written', points: sum('written') },
        ]}
      />
      <Chart
        {...common}
        title={t.latency}
        shown={milliseconds}
        lines={[
          { label: 'reads', points: most('read_latency') },
          { label: 'writes', points: most('write_latency') },
        ]}
      />
      <Chart
        {...common}
        title={t.warmestDisk}
        top={60}
        shown={(value) => `${Math.round(value)} °C`}
        lines={[{ label: '', points: most('temperature') }]}
      />
    </div>
  );
}

/** The space of a pool, and where its pace leads within a third of the time that is shown. */
function Capacity({ forecast, measured: { from, to, series } }: { forecast: Forecast; measured: Measured }) {
  const { pool, used, size, per_day: perDay } = forecast;
  const ahead = perDay === null ? 0 : (to - from) / 3;
  const measured = series.get(`pool/${pool.replaceAll(/\s+/g, '_')}/used`) ?? [];
  // It goes on where the measured line ends.
  const begin = measured.at(-1) ?? { at: to, value: used };
  const lines: readonly Line[] = [
    { label: '', points: measured },
    ...(perDay === null
      ? []
      : [
          {
            label: 'expected',
            isForecast: true,
            points: [
              begin,
              { at: to + ahead, value: Math.min(size, Math.max(0, begin.value + (perDay * ahead) / day)) },
            ],
          },
        ]),
  ];
  return (
    <Chart
      title={t.spaceOf(pool)}
      {...{ lines, from, to: to + ahead, now: now.value }}
      top={size}
      shown={bytes}
      note={sentenceOf(forecast)}
    />
  );
}

function sentenceOf({ days, per_day: perDay, full_at: fullAt }: Forecast): string {
  if (perDay === null) return t.itIsNotForecastYetWhen;
  const pace = t.atThePaceOfTheLast(count(days, t.day), bytes(perDay));
  return fullAt === null ? t.thePoolDoesNotBecomeFull(pace) : t.thePoolIsFullOn(pace, date.format(new Date(fullAt)));
}

const date = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long' });

const milliseconds = (value: number): string => t.ms(value < 10 ? value.toFixed(1) : Math.round(value));

function together(all: readonly (readonly Point[])[], combine: (a: number, b: number) => number): readonly Point[] {
  const found = new Map<number, number>();
  for (const { at, value } of all.flat()) {
    const before = found.get(at);
    found.set(at, before === undefined ? value : combine(before, value));
  }
  return [...found].toSorted(([a], [b]) => a - b).map(([at, value]) => ({ at, value }));
}
