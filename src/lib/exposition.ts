/**
 * The text formats in which Prometheus reads metrics: its own of version 0.0.4, and OpenMetrics 1.0. They differ in the
 * names of counters and facts in the head of a family, in units, and in the end of the text.
 */

export const expositions = ['text', 'openmetrics'] as const;
export type Exposition = (typeof expositions)[number];

export const expositionTypes: Readonly<Record<Exposition, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/** Undefined labels are left out. */
export type Labels = Readonly<Record<string, string | undefined>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
  /** What follows the name of the family: `_bucket`, `_sum` and `_count` of histograms and summaries. */
  readonly suffix?: string;
}

/** Samples of one name, computed from what `T` knows. */
export interface Family<T> {
  /** Without the suffix `_total` of counters and `_info` of facts, which the writer appends. */
  readonly name: string;
  readonly type: 'gauge' | 'counter' | 'info' | 'histogram' | 'summary' | 'unknown';
  /** Base unit, with which the name ends. */
  readonly unit?: 'bytes' | 'ratio' | 'seconds';
  /** What it measures, as a sentence. */
  readonly help: string;
  read(known: T): Iterable<Sample>;
}

/** How many lines are written at once. A piece of them takes far less than a millisecond. */
const linesAtOnce = 20;

/** Writes families in small pieces, between which the caller may do other work. Families without samples are left out. */
export function* exposition<T>(families: readonly Family<T>[], known: T, format: Exposition): Generator<string> {
  for (const family of families) {
    let lines: string[] = [];
    let isBegun = false;
    for (const sample of family.read(known)) {
      if (!isBegun) lines.push(...headOf(family, format));
      isBegun = true;
      lines.push(lineOf(family, sample));
      if (lines.length < linesAtOnce) continue;
      yield lines.join('');
      lines = [];
    }
    yield lines.join('');
  }
  if (format === 'openmetrics') yield '# EOF\n';
}

/** What follows the name in the samples of a counter or a fact. */
const suffixes: Readonly<Partial<Record<Family<never>['type'], string>>> = { counter: '_total', info: '_info' };

/** The types that the plain text calls something else. */
const plainTypes: Readonly<Partial<Record<Family<never>['type'], string>>> = { info: 'gauge', unknown: 'untyped' };

function headOf(family: Family<never>, format: Exposition): readonly string[] {
  const { type, unit, help } = family;
  const isOpen = format === 'openmetrics';
  const name = isOpen ? family.name : `${family.name}${suffixes[type] ?? ''}`;
  return [
    `# HELP ${name} ${escaped(help, isOpen)}\n`,
    `# TYPE ${name} ${(isOpen ? undefined : plainTypes[type]) ?? type}\n`,
    ...(isOpen && unit !== undefined ? [`# UNIT ${name} ${unit}\n`] : []),
  ];
}

function lineOf({ name, type }: Family<never>, { labels, value, suffix = suffixes[type] ?? '' }: Sample): string {
  const texts: string[] = [];
  for (const [label, text] of Object.entries(labels))
    if (text !== undefined) texts.push(`${label}="${escaped(text, true)}"`);
  return `${name}${suffix}${texts.length === 0 ? '' : `{${texts.join(',')}}`} ${numberText(value)}\n`;
}

/** A text within a line: of names from disks and networks, no character may end the value or the line. */
function escaped(text: string, inQuotes: boolean): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  if (!/[\\"\n]/.test(whole)) return whole;
  const lines = whole.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return inQuotes ? lines.replaceAll('"', '\\"') : lines;
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  return String(value);
}

/**
 * The format that a client prefers by its header Accept. Clients that accept both equally, or send no header, get the
 * plain text, which every program reads.
 */
export function expositionFor(accept: string | undefined): Exposition {
  const quality = (type: RegExp) =>
    Math.max(
      0,
      ...(accept ?? '*/*').split(',').flatMap((one) => {
        const [name = '', ...parameters] = one.split(';').map((part) => part.trim().toLowerCase());
        const asked = parameters.find((part) => part.startsWith('version='))?.slice('version='.length) ?? '';
        if (!type.test(name) || (name === 'application/openmetrics-text' && !/^"?(1\.0\.0"?)?$/.test(asked))) return [];
        const q = Number(parameters.find((part) => part.startsWith('q='))?.slice(2) ?? 1);
        return Number.isFinite(q) ? [q] : [];
      }),
    );
  return quality(/^application\/openmetrics-text$/) > quality(/^(text\/(plain|\*)|\*\/\*)$/) ? 'openmetrics' : 'text';
}
