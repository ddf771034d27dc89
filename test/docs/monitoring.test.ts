/** The shipped rules and the dashboard use only metrics that an appliance exports, and the page describes all of these. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { parse } from 'yaml';
import { families } from '../../src/areas/metrics/families.ts';
import { isObject } from '../../src/lib/json.ts';
import { exampleCertificate, exampleKey } from '../support/certificates.ts';
import { type ParsedFamily, parseExposition } from '../support/exposition.ts';
import { furnished } from '../support/furnished.ts';

const read = (name: string) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
const page = read('monitoring.md');
const rules: unknown = parse(read('monitoring/holdfast.rules.yml'));
const dashboard: unknown = JSON.parse(read('monitoring/holdfast.dashboard.json'));

/** What an appliance with examples exports. Some families have no sample there: nothing was scrubbed or replicated. */
let exported: ReadonlyMap<string, ParsedFamily>;

before(async () => {
  await using world = await furnished();
  await world.engine.renew('condition');
  await world.api.expect(201, 'POST', 'system/certificate/import/', {
    cert_name: 'monitored',
    cert_certificate: exampleCertificate,
    cert_privatekey: exampleKey,
  });
  exported = parseExposition((await world.api.get('/metrics')).text, 'text');
});

const suffixes: Readonly<Record<string, readonly string[]>> = {
  counter: ['_total'],
  info: ['_info'],
  histogram: ['_bucket', '_sum', '_count'],
  summary: ['_sum', '_count'],
};

const declared = new Set(
  families.flatMap(({ name, type }) => (suffixes[type] ?? ['']).map((suffix) => `${name}${suffix}`)),
);

/** Every value of a member with this name, at any depth. */
function membersNamed(value: unknown, name: string): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((one) => membersNamed(one, name));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, member]) =>
    key === name && typeof member === 'string' ? [member] : membersNamed(member, name),
  );
}

/** The metrics in an expression, which all have a prefix of ours. */
const metricsIn = (expression: string) => expression.match(/\b(?:zfs|smartctl|holdfast|process)_[a-z0-9_]+/g) ?? [];

test('the rules and the dashboard name only metrics that are declared, and nearly all of them are exported', () => {
  const used = new Set([...membersNamed(rules, 'expr'), ...membersNamed(dashboard, 'expr')].flatMap(metricsIn));
  assert.ok(used.size > 20);
  assert.deepEqual(
    [...used].filter((name) => !declared.has(name)),
    [],
  );
  const samples = new Set([...exported.values()].flatMap((family) => family.samples.map(({ name }) => name)));
  // These need a scrub, a run of a task or a job that has ended.
  const later = /^holdfast_(scrub_last_end|task_|job_|replication_)/;
  assert.deepEqual(
    [...used].filter((name) => !samples.has(name) && !later.test(name)),
    [],
  );
});

test('a label in an expression is one that the metric has', () => {
  for (const expression of membersNamed(rules, 'expr'))
    for (const [, name = '', inner = ''] of expression.matchAll(/\b((?:zfs|smartctl|holdfast)_\w+)\{([^}]*)\}/g))
      for (const [, label = ''] of inner.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g))
        assert.ok(exported.get(name)?.samples[0]?.labels.has(label), `${name} has no label ${label}`);
});

test('each rule has a severity, a summary, a description with what to do, and a section of the page', () => {
  const groups = isObject(rules) && Array.isArray(rules['groups']) ? rules['groups'] : [];
  const all = groups.flatMap((group) => (isObject(group) && Array.isArray(group['rules']) ? group['rules'] : []));
  assert.ok(all.length >= 15);
  for (const rule of all) {
    const { alert, labels, annotations } = rule;
    assert.ok(['info', 'warning', 'critical'].includes(labels.severity), alert);
    for (const name of ['summary', 'description']) assert.ok(annotations[name].length > 10, `${alert} ${name}`);
    assert.equal(annotations.runbook_url, 'monitoring.md#alerts');
    assert.ok(page.includes(`\`${alert}\``), `docs/monitoring.md does not describe ${alert}`);
  }
  assert.equal(new Set(all.map(({ alert }) => alert)).size, all.length);
  assert.match(page, /^## Alerts$/m);
});

test('the page names every metric', () => {
  const named = new Set(page.match(/\b_?[a-z]+_[a-z0-9_]+/g));
  const missing = families
    .map(({ name, type }) => `${name}${type === 'counter' ? '_total' : type === 'info' ? '_info' : ''}`)
    .filter((name) => !named.has(name) && ![...named].some((end) => end.startsWith('_') && name.endsWith(end)));
  assert.deepEqual(missing, []);
});
