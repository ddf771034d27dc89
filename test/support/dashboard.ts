/**
 * A picture of docs/monitoring/holdfast.dashboard.json with what a Prometheus answers. Debian has no Grafana, so this draws
 * the kinds of panels that the file uses, in their places and with their units: it shows which data each of them has, and
 * not how a version of Grafana looks.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { isObject } from '../../src/lib/json.ts';
import type { Found, Prometheus, Series } from './prometheus.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Panel {
  readonly title: string;
  readonly type: string;
  readonly unit: string;
  readonly place: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly queries: readonly { readonly expression: string; readonly legend: string }[];
}

/** The panels of a dashboard's file, for all instances. */
export function panelsOf(dashboard: unknown): readonly Panel[] {
  return listOf(dashboard, 'panels').map((panel) => ({
    title: textOf(panel, 'title'),
    type: textOf(panel, 'type'),
    unit: textOf(memberOf(memberOf(panel, 'fieldConfig'), 'defaults'), 'unit'),
    place: {
      x: numberOf(memberOf(panel, 'gridPos'), 'x'),
      y: numberOf(memberOf(panel, 'gridPos'), 'y'),
      w: numberOf(memberOf(panel, 'gridPos'), 'w'),
      h: numberOf(memberOf(panel, 'gridPos'), 'h'),
    },
    queries: listOf(panel, 'targets').map((target) => ({
      expression: textOf(target, 'expr').replaceAll('$instance', '.+'),
      legend: textOf(target, 'legendFormat'),
    })),
  }));
}

/** Stores docs/pictures/`name`.png: the panels with the answers of the last `seconds`, if HOLDFAST_PICTURES is set. */
export async function draw(
  name: string,
  panels: readonly Panel[],
  prometheus: Prometheus,
  seconds: number,
): Promise<void> {
  if (process.env['HOLDFAST_PICTURES'] === undefined) return;
  const drawn = await Promise.all(
    panels.map(async (panel) => {
      const { x, y, w, h } = panel.place;
      const area = `grid-column:${x + 1}/span ${w};grid-row:${y + 1}/span ${h}`;
      return `<section style="${area}"><h2>${escaped(panel.title)}</h2>${await bodyOf(panel, prometheus, seconds)}</section>`;
    }),
  );
  const { status, stdout } = spawnSync(`${root}/lab/browser`, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new Error(stdout);
  const browser = await chromium.launch({ executablePath: stdout.trim(), args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await page.setContent(`<!doctype html><style>${style}</style><main>${drawn.join('')}</main>`);
    await page.screenshot({ path: `${root}/docs/pictures/${name}.png`, fullPage: true });
  } finally {
    await browser.close();
  }
}

async function bodyOf(panel: Panel, prometheus: Prometheus, seconds: number): Promise<string> {
  if (panel.type === 'timeseries') {
    const answers = await Promise.all(
      panel.queries.map(async ({ expression, legend }) =>
        (await prometheus.range(expression, seconds)).map((one) => ({ ...one, label: labelOf(legend, one.labels) })),
      ),
    );
    return chart(answers.flat(), panel.unit);
  }
  const answers = await Promise.all(
    panel.queries.map(async ({ expression, legend }) =>
      (await prometheus.query(expression)).map((one) => ({ ...one, label: labelOf(legend, one.labels) })),
    ),
  );
  return panel.type === 'table' ? table(answers.flat()) : figure(answers.flat(), panel);
}

const figure = (found: readonly (Found & { readonly label: string })[], { unit, title }: Panel): string => {
  const [first] = found;
  const text = title === 'Version' ? (first?.label ?? '') : shown(first?.value ?? Number.NaN, unit);
  return `<p class="${title !== 'Version' && (first?.value ?? 0) >= 1 ? 'bad' : 'good'}">${escaped(text)}</p>`;
};

function table(found: readonly Found[]): string {
  const columns = ['device', 'model_name', 'serial_number'];
  const rows = found
    .slice(0, 8)
    .map(({ labels }) => `<tr>${columns.map((name) => `<td>${escaped(labels[name] ?? '')}</td>`).join('')}</tr>`);
  return `<table><tr>${columns.map((name) => `<th>${name}</th>`).join('')}</tr>${rows.join('')}</table>`;
}

const colours = ['#1f77b4', '#d95f02', '#2ca02c', '#9467bd', '#b8860b', '#e377c2', '#17a2b8', '#7f7f7f'];
const [width, height] = [100, 40];

function chart(all: readonly (Series & { readonly label: string })[], unit: string): string {
  const last = ({ values }: Series) => values.at(-1)?.value ?? Number.NaN;
  const series = all.filter((one) => Number.isFinite(last(one))).toSorted((a, b) => last(b) - last(a));
  const points = series.flatMap(({ values }) => values).filter(({ value }) => Number.isFinite(value));
  if (points.length === 0) return '<p class="none">no data</p>';
  const [from, to] = [Math.min(...points.map(({ at }) => at)), Math.max(...points.map(({ at }) => at))];
  const top = unit === 'percentunit' ? 1 : Math.max(...points.map(({ value }) => value), Number.MIN_VALUE) * 1.1;
  const lines = series.map(({ values }, index) => {
    const path = values
      .filter(({ value }) => Number.isFinite(value))
      .map(({ at, value }) => {
        const x = to === from ? width : ((at - from) / (to - from)) * width;
        return `${x.toFixed(2)},${(height - (Math.max(0, value) / top) * height).toFixed(2)}`;
      });
    return `<polyline points="${path.join(' ')}" stroke="${colours[index % colours.length]}"/>`;
  });
  const legend = series
    .slice(0, 6)
    .map((one, index) => {
      const colour = colours[index % colours.length];
      return `<li style="--colour:${colour}">${escaped(one.label)} <b>${shown(last(one), unit)}</b></li>`;
    })
    .concat(series.length > 6 ? [`<li>and ${series.length - 6} more</li>`] : []);
  return `<div class="plot"><span>${shown(top, unit)}</span><svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none">${lines.join('')}</svg></div><ul>${legend.join('')}</ul>`;
}

function shown(value: number, unit: string): string {
  if (!Number.isFinite(value)) return 'none';
  if (unit === 'percentunit') return `${Math.round(value * 100)} %`;
  if (unit === 'bytes')
    return value >= 2 ** 30 ? `${(value / 2 ** 30).toFixed(1)} GiB` : `${Math.round(value / 1024)} KiB`;
  if (unit === 's' && value >= 86_400) return `${Math.round(value / 86_400)} d`;
  const text = Number.isInteger(value) ? String(value) : value.toPrecision(2);
  return { s: `${text} s`, d: `${text} d` }[unit] ?? text;
}

const labelOf = (legend: string, labels: Readonly<Record<string, string>>): string =>
  legend.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => labels[name] ?? '');

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

const memberOf = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined);
const textOf = (value: unknown, name: string): string => String(memberOf(value, name) ?? '');
const numberOf = (value: unknown, name: string): number => Number(memberOf(value, name));
function listOf(value: unknown, name: string): readonly unknown[] {
  const member = memberOf(value, name);
  return Array.isArray(member) ? member : [];
}

const style = `
  body { margin: 0; background: #f4f5f5; font: 13px/1.4 sans-serif; color: #24292e }
  main { display: grid; grid-template-columns: repeat(24, 1fr); grid-auto-rows: 26px; gap: 8px; padding: 8px }
  section { display: flex; flex-direction: column; background: #fff; border: 1px solid #dcdee0; padding: 6px 10px; overflow: hidden }
  h2 { margin: 0; font-size: 13px; font-weight: 600 }
  p { margin: auto; font-size: 32px } .good { color: #1a7f37 } .bad { color: #c62828 } .none { color: #777; font-size: 15px }
  .plot { position: relative; flex: 1; min-height: 0; border-bottom: 1px solid #bbb } .plot span { position: absolute; color: #777; font-size: 11px }
  svg { width: 100%; height: 100% } polyline { fill: none; stroke-width: 1.6; vector-effect: non-scaling-stroke }
  ul { display: flex; flex-wrap: wrap; gap: 0 12px; list-style: none; margin: 4px 0 0; padding: 0; font-size: 11px }
  li::before { content: ''; display: inline-block; width: 10px; height: 3px; margin: 0 5px 3px 0; background: var(--colour) }
  table { border-collapse: collapse; margin-top: 6px; font-size: 12px } td, th { text-align: left; padding: 2px 18px 2px 0; border-bottom: 1px solid #eee }`;
