/** A line chart: lines over time with one unit. The picture has no text of its own, so that it can stretch. */
import { when } from '../base/format.ts';
import * as t from '../texts/parts/chart.ts';

export interface Line {
  readonly label: string;
  readonly points: readonly Point[];
  /** Whether it is expected and not measured. */
  readonly isForecast?: boolean;
}

export interface Point {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly value: number;
}

const [width, height] = [600, 120];

export function Chart({
  title,
  lines,
  from,
  to,
  now,
  top,
  shown,
  note,
}: {
  title: string;
  lines: readonly Line[];
  from: number;
  to: number;
  now: number;
  /** What the top of the picture means at least. */
  top?: number;
  shown: (value: number) => string;
  note?: string | undefined;
}) {
  const values = lines.flatMap(({ points }) => points.map(({ value }) => value));
  const measured = lines.filter(({ isForecast, points }) => isForecast !== true && points.length > 0);
  if (values.length === 0)
    return (
      <figure class="chart">
        <figcaption>{title}</figcaption>
        <p class="soft">{t.nothingWasMeasuredInThisTime}</p>
      </figure>
    );
  const highest = Math.max(top ?? 0, ...values) || 1;
  const latest = measured.map(({ label, points }) => `${label} ${shown(points.at(-1)?.value ?? 0)}`).join(', ');
  const x = (at: number) => ((at - from) / (to - from)) * width;
  const y = (value: number) => height - (Math.max(0, value) / highest) * (height - 4);
  return (
    <figure class="chart">
      <figcaption>
        {title} <span class="soft">{latest}</span>
      </figcaption>
      <div class="plot">
        <span class="soft">{shown(highest)}</span>
        <svg
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={t.atMost(title, latest, shown(Math.max(...values)))}
        >
          {lines.map(({ label, points, isForecast }, index) => (
            <polyline
              key={label}
              class={isForecast === true ? 'ahead' : `l${index}`}
              points={points.map(({ at, value }) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(' ')}
            />
          ))}
        </svg>
      </div>
      <div class="row soft times">
        <span class="grow">{when(new Date(from).toISOString(), now)}</span>
        <span>{when(new Date(to).toISOString(), now)}</span>
      </div>
      {measured.length > 1 && (
        <div class="key">
          {measured.map(({ label }, index) => (
            <span key={label}>
              <i class={`l${index}`} />
              {label}
            </span>
          ))}
        </div>
      )}
      {note !== undefined && <p class="soft">{note}</p>}
    </figure>
  );
}
