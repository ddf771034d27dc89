import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Distribution } from '../../src/lib/distribution.ts';
import { exposition, expositionFor, expositions, type Family } from '../../src/lib/exposition.ts';
import { anyCharacter } from '../support/arbitrary.ts';
import { parseExposition } from '../support/exposition.ts';

const temperature: Family<readonly (readonly [string, number])[]> = {
  name: 'disk_heat_ratio',
  type: 'gauge',
  unit: 'ratio',
  help: 'Heat of a "disk".',
  read: (known) => known.map(([device, value]) => ({ labels: { device, port: undefined }, value })),
};

const version: Family<unknown> = {
  name: 'build',
  type: 'info',
  help: 'The version; always 1.',
  read: () => [{ labels: { version: '1.2' }, value: 1 }],
};

const failures: Family<unknown> = {
  name: 'job_failures',
  type: 'counter',
  help: 'Failed jobs.',
  read: () => [{ labels: {}, value: 3 }],
};

const nothing: Family<unknown> = { name: 'nothing', type: 'gauge', help: 'Nothing.', read: () => [] };

test('the text format has the suffixes of counters and facts in the head too', () => {
  assert.equal(
    [...exposition([temperature, version, failures, nothing], [['sda', 0.5]], 'text')].join(''),
    [
      '# HELP disk_heat_ratio Heat of a "disk".',
      '# TYPE disk_heat_ratio gauge',
      'disk_heat_ratio{device="sda"} 0.5',
      '# HELP build_info The version; always 1.',
      '# TYPE build_info gauge',
      'build_info{version="1.2"} 1',
      '# HELP job_failures_total Failed jobs.',
      '# TYPE job_failures_total counter',
      'job_failures_total 3',
      '',
    ].join('\n'),
  );
});

test('OpenMetrics has units, types of facts, and an end', () => {
  assert.equal(
    [...exposition([temperature, version, failures, nothing], [['sda', 0.5]], 'openmetrics')].join(''),
    [
      '# HELP disk_heat_ratio Heat of a \\"disk\\".',
      '# TYPE disk_heat_ratio gauge',
      '# UNIT disk_heat_ratio ratio',
      'disk_heat_ratio{device="sda"} 0.5',
      '# HELP build The version; always 1.',
      '# TYPE build info',
      'build_info{version="1.2"} 1',
      '# HELP job_failures Failed jobs.',
      '# TYPE job_failures counter',
      'job_failures_total 3',
      '# EOF',
      '',
    ].join('\n'),
  );
});

test('a reader gets every label and every number as it was, whatever characters it has', () => {
  const label = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.string({ unit: fc.constantFrom('\\', '"', '\n', '\r', ' ', '{', '}', ',', '=', '#', 'n', 'ä') }),
  );
  const value = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(0, Number.NaN, Number.POSITIVE_INFINITY));
  fc.assert(
    fc.property(fc.uniqueArray(fc.tuple(label, value), { selector: ([text]) => text }), (known) => {
      for (const format of expositions) {
        const text = [...exposition([temperature], known, format)].join('');
        if (known.length === 0) continue;
        const samples = parseExposition(text, format).get('disk_heat_ratio')?.samples ?? [];
        assert.deepEqual(
          samples.map((sample) => [sample.labels.get('device'), sample.value + 0]),
          known.map(([device, number]) => [device, number + 0]),
        );
      }
    }),
  );
});

test('a text that is not Unicode does not make the rest unreadable', () => {
  const text = [...exposition([temperature], [['a\ud800b', 1]], 'text')].join('');
  assert.match(text, /device="a\ufffdb"/);
});

test('the buckets of a distribution count what is at most their limit', () => {
  const times = new Distribution([0.1, 1]);
  for (const seconds of [0.05, 0.1, 0.5, 7]) times.add(seconds, { route: '/a' });
  times.add(0.2, { route: '/b' });
  const family: Family<unknown> = {
    name: 'wait_seconds',
    type: 'histogram',
    help: 'Waits.',
    read: () => times.samples(),
  };
  for (const format of expositions) {
    const text = [...exposition([family], undefined, format)].join('');
    parseExposition(text, format);
    assert.deepEqual(
      text.split('\n').filter((line) => line.includes('/a')),
      [
        'wait_seconds_bucket{route="/a",le="0.1"} 2',
        'wait_seconds_bucket{route="/a",le="1.0"} 3',
        'wait_seconds_bucket{route="/a",le="+Inf"} 4',
        'wait_seconds_sum{route="/a"} 7.65',
        'wait_seconds_count{route="/a"} 4',
      ],
    );
  }
});

test('OpenMetrics is for clients that prefer it', () => {
  const prometheus =
    'application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2';
  assert.equal(expositionFor(prometheus), 'openmetrics');
  assert.equal(expositionFor('application/openmetrics-text'), 'openmetrics');
  assert.equal(expositionFor('application/openmetrics-text; version=1.0.0; charset=utf-8'), 'openmetrics');
  for (const accept of [
    undefined,
    '*/*',
    'text/plain',
    'application/json',
    'application/openmetrics-text;version=0.0.1',
    'application/openmetrics-text;q=0',
    'application/openmetrics-text;q=0.3,text/plain;q=0.5',
    'text/plain;version=0.0.4;q=1,*/*;q=0.1',
    ';;,=',
  ])
    assert.equal(expositionFor(accept), 'text', accept);
});
