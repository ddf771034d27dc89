import assert from 'node:assert/strict';
import { test } from 'node:test';
import { notShown, operations } from '../../conformance/operations.ts';
import { runOwn } from '../../conformance/own.ts';
import { conforms, table } from '../../conformance/report.ts';
import { Router, routesOf } from '../../src/http/routes.ts';
import { addressed } from '../support/catalogue.ts';

test('our server conforms to the document, in everything whose address it has', async (t) => {
  const report = await runOwn();
  t.diagnostic(table(report));
  const router = new Router(routesOf(addressed));
  const isThere = (path: string) => router.match(path.replaceAll(/\{[^}]*\}/g, 'x')) !== undefined;
  // What is not there at all yet is listed once, in test/conventions/document.test.ts.
  const absent = operations.filter(({ path }) => !isThere(path));
  const short = {
    checks: report.checks.filter(
      ({ resource, why }) => why !== undefined && !absent.some(({ path }) => path.startsWith(resource)),
    ),
    missing: report.missing.filter(({ operation }) => !absent.includes(operation)),
  };
  assert.deepEqual(short, { checks: [], missing: [] });
  // A check that cannot fail says nothing: where there is nothing, it fails.
  for (const { path } of absent)
    assert.ok(
      report.checks.some(({ resource, why }) => why !== undefined && path.startsWith(resource)),
      `nothing failed at ${path}`,
    );
  assert.equal(conforms(report), absent.length === 0);
});

test('an operation is shown by a request of its own shape and status, and by no other', () => {
  const shown = (method: string, path: string, status: number) => {
    const missing = notShown([{ method, path, status }]);
    return operations
      .filter((one) => !missing.some(({ operation }) => operation === one))
      .map((one) => `${one.method} ${one.path} ${one.status}`);
  };
  assert.deepEqual(shown('GET', 'tasks/cronjob/', 200), ['GET tasks/cronjob 200']);
  assert.deepEqual(shown('GET', 'tasks/cronjob/', 404), []);
  assert.deepEqual(shown('DELETE', 'storage/volume/tank/scrub/', 202), ['DELETE storage/volume/{vol}/scrub 202']);
  assert.deepEqual(shown('DELETE', 'storage/volume/tank/datasets/a/b/', 204), [
    'DELETE storage/volume/{vol}/datasets/{dsname} 204',
  ]);
  assert.deepEqual(shown('POST', 'storage/dataset/tank/a/', 202), ['POST storage/dataset/{path} 202']);
  assert.deepEqual(shown('POST', 'storage/snapshot/tank/a%40one/clone/', 202), [
    'POST storage/snapshot/{id}/clone 202',
  ]);
  assert.deepEqual(shown('POST', 'system/certificate/internal/', 201), ['POST system/certificate/internal 201']);
  const [first] = notShown([{ method: 'GET', path: 'jails/configuration/', status: 404 }]);
  assert.equal(first?.why, 'answers 404, not 200');
});
