import assert from 'node:assert/strict';
import type { Reading } from '../../../src/engine/declare/proposal.ts';
import type { Collection, Draft, Singleton } from '../../../src/engine/declare/resource.ts';
import type { Subsystem } from '../../../src/engine/declare/subsystem.ts';
import { freshConfiguration, machine } from './configuration.ts';

export type Values = Readonly<Record<string, unknown>>;
export interface Made {
  readonly resource: Collection | Singleton;
  readonly values: Values;
}

/** A configuration with these records. */
export function configured(records: readonly Made[], facts = machine): Draft {
  const draft = freshConfiguration(facts);
  for (const { resource, values } of records)
    if (resource.kind === 'singleton') draft.update(resource, 1, values);
    else draft.create(resource, values);
  assert.deepEqual(draft.issues.toIssues(), {});
  return draft;
}

/** The files that a subsystem writes for a configuration. */
export function contents(subsystem: Subsystem, draft: Draft): ReadonlyMap<string, string> {
  const files = subsystem.render(draft, machine).files ?? [];
  return new Map(files.flatMap(({ path, content }) => (content === undefined ? [] : [[path, content] as const])));
}

/** What a subsystem reads in files that were made by hand, on a machine without records. */
export function readBy({ adopts }: Subsystem, files: Readonly<Record<string, string>>, facts = machine): Reading {
  const view = freshConfiguration(facts);
  const reading = adopts?.read({ files: new Map(Object.entries(files)), outputs: new Map(), facts, view });
  assert.ok(reading !== undefined);
  return reading;
}
