import assert from 'node:assert/strict';

export interface ParsedFamily {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly unit: string | undefined;
  readonly samples: readonly ParsedSample[];
}

export interface ParsedSample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

const suffixes: Readonly<Record<string, readonly string[]>> = {
  gauge: [''],
  unknown: [''],
  untyped: [''],
  counter: ['_total'],
  info: ['_info'],
  histogram: ['_bucket', '_sum', '_count'],
  summary: ['_sum', '_count'],
};

/**
 * Reads the text of metrics more strictly than Prometheus: one block a family, each line in the shape that the
 * description of the format prescribes, no series twice, buckets that rise.
 */
export function parseExposition(text: string, format: 'text' | 'openmetrics'): ReadonlyMap<string, ParsedFamily> {
  assert.ok(text.endsWith('\n'), 'the text ends within a line');
  const lines = text.slice(0, -1).split('\n');
  if (format === 'openmetrics') assert.equal(lines.pop(), '# EOF');
  const families = new Map<string, ParsedFamily>();
  const series = new Set<string>();
  let current:
    | { name: string; type: string; help: string; unit: string | undefined; samples: ParsedSample[] }
    | undefined;
  for (const [index, line] of lines.entries()) {
    const [, word, name = '', rest = ''] = /^# (HELP|TYPE|UNIT) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line) ?? [];
    if (word === 'HELP') {
      assert.ok(!families.has(name), `${name} occurs in two blocks`);
      assert.match(lines[index + 1] ?? '', new RegExp(`^# TYPE ${name} `), `${name} has no type`);
      current = { name, type: '', help: unescaped(rest, format === 'openmetrics'), unit: undefined, samples: [] };
      families.set(name, current);
    } else if (word === 'TYPE') {
      assert.equal(current?.name, name, line);
      assert.ok(Object.keys(suffixes).includes(rest), line);
      assert.ok(!(format === 'openmetrics' ? ['untyped'] : ['info', 'unknown']).includes(rest), line);
      if (current !== undefined) current.type = rest;
    } else if (word === 'UNIT') {
      assert.equal(format, 'openmetrics', line);
      assert.ok(current?.name === name && name.endsWith(`_${rest}`), line);
      if (current !== undefined) current.unit = rest;
    } else {
      assert.ok(current !== undefined, line);
      const sample = sampleIn(line);
      const allowed = suffixes[current.type]?.map((suffix) =>
        format === 'text' && suffix.length > 0 && current?.name.endsWith(suffix)
          ? current.name
          : `${current?.name}${suffix}`,
      );
      assert.ok(allowed?.includes(sample.name), `${sample.name} is not a sample of ${current.name}`);
      const key = JSON.stringify([sample.name, [...sample.labels].toSorted()]);
      assert.ok(!series.has(key), `${key} occurs twice`);
      series.add(key);
      current.samples.push(sample);
    }
  }
  for (const family of families.values()) {
    assert.ok(family.samples.length > 0, `${family.name} has no sample`);
    if (family.type === 'counter' || family.type === 'histogram')
      for (const { value } of family.samples) assert.ok(value >= 0, family.name);
    if (family.type === 'histogram') checkBuckets(family);
  }
  return families;
}

function sampleIn(line: string): ParsedSample {
  const [head, name = ''] = /^([a-zA-Z_:][a-zA-Z0-9_:]*)/.exec(line) ?? [];
  assert.ok(head !== undefined, line);
  let rest = line.slice(name.length);
  const labels = new Map<string, string>();
  if (rest.startsWith('{')) {
    rest = rest.slice(1);
    for (;;) {
      const [whole, label = '', value = '', end] =
        /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\[\\"n])*)"([,}])/.exec(rest) ?? [];
      assert.ok(whole !== undefined, line);
      assert.ok(!labels.has(label), line);
      labels.set(label, unescaped(value, true));
      rest = rest.slice(whole.length);
      if (end === '}') break;
    }
  }
  const [, value = ''] = /^ (NaN|[+-]Inf|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/.exec(rest) ?? [];
  assert.notEqual(value, '', line);
  return { name, labels, value: value.endsWith('Inf') ? Number(`${value}inity`) : Number(value) };
}

function unescaped(text: string, withQuotes: boolean): string {
  return text.replaceAll(withQuotes ? /\\([\\n"])/g : /\\([\\n])/g, (_, letter: string) =>
    letter === 'n' ? '\n' : letter,
  );
}

function checkBuckets({ name, samples }: ParsedFamily): void {
  const key = ({ labels }: ParsedSample) => JSON.stringify([...labels].filter(([label]) => label !== 'le'));
  for (const [of, ofSeries] of Map.groupBy(samples, key)) {
    const buckets = ofSeries.filter((sample) => sample.name === `${name}_bucket`);
    const limits = buckets.map(({ labels }) => Number((labels.get('le') ?? '').replace('+Inf', 'Infinity')));
    assert.deepEqual(
      limits,
      limits.toSorted((a, b) => a - b),
      of,
    );
    assert.equal(limits.at(-1), Number.POSITIVE_INFINITY, of);
    const counts = buckets.map(({ value }) => value);
    assert.deepEqual(
      counts,
      counts.toSorted((a, b) => a - b),
      of,
    );
    assert.equal(ofSeries.find((sample) => sample.name === `${name}_count`)?.value, counts.at(-1), of);
    assert.ok(
      ofSeries.some((sample) => sample.name === `${name}_sum`),
      of,
    );
  }
}
