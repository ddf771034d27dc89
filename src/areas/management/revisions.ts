import { changedNames, revert } from '../../engine/change/revert.ts';
import type { KeptRevision, WholeRevision } from '../../engine/configuration/configuration-store.ts';
import { type Access, Forbidden } from '../../engine/declare/access.ts';
import { conflict, missing } from '../../engine/declare/errors.ts';
import { flag, integer, optional } from '../../engine/declare/fields.ts';
import type { RecordChange } from '../../engine/declare/kept.ts';
import { type EngineToRead, operation, section } from '../../engine/declare/operation.ts';
import type { View } from '../../engine/declare/resource.ts';
import {
  anyObject,
  choiceOf,
  flagOf,
  integerOf,
  listOf,
  objectOf,
  orNull,
  stringOf,
  timeOf,
} from '../../engine/declare/schema.ts';
import { titlesOf } from '../../engine/plan/dry-run.ts';
import { user } from '../account/users.ts';

const change = objectOf(
  'RecordChange',
  {
    resource: stringOf('Path of the resource.'),
    id: integerOf('Id of the record.'),
  },
  {
    before: anyObject('The record before, unless it was created. Secrets are masked.'),
    after: anyObject('The record after, unless it was removed. Secrets are masked.'),
  },
);

const head = {
  number: integerOf('Number of the revision.'),
  at: timeOf('When the change was stored.'),
  actor: stringOf('Account that made the change; holdfast for the daemon itself.'),
  request: stringOf('Id of the request, as in its header X-Request-Id.'),
  title: stringOf('What was changed.'),
  comment: orNull(stringOf('What the client sent in the header X-Holdfast-Comment; null if it sent none.')),
};

const params = { number: integer({ description: 'Number of the revision.', min: 1 }) };

export const revisions = section('revisions', 'The history of the configuration.', [
  operation({
    method: 'GET',
    path: 'revisions',
    name: 'listRevisions',
    title: 'Lists stored changes, the newest first.',
    query: {
      before: optional(integer({ description: 'Only revisions with a lower number, for the next page.', min: 1 })),
    },
    answer: listOf(objectOf('Revision', { ...head, changes: listOf(change, 'The changed records.') })),
    list: { key: ['number'], order: ['-number'], isOrdered: true, limit: 20 },
    example: { query: { limit: '5', before: '1000' } },
    run: ({ engine, query }) => newestFirst(engine, query.before),
  }),
  operation({
    method: 'GET',
    path: 'revisions/{number}',
    name: 'getRevision',
    title: 'Reads one revision, with the fields that it changed.',
    params,
    answer: objectOf('RevisionDiff', {
      ...head,
      revertible: flagOf('Whether it can be reverted as long as no later revision changes the same.'),
      replaced: listOf(
        objectOf('ReplacedFile', {
          path: stringOf('The path.'),
          kept: stringOf('Where the file is kept.'),
        }),
        'The files of others that it replaced. Removing the package gives them back.',
      ),
      changes: listOf(
        objectOf('RecordDiff', {
          resource: stringOf('Path of the resource.'),
          id: integerOf('Id of the record.'),
          what: choiceOf(['created', 'updated', 'removed'], 'What was done to the record.'),
          fields: anyObject('Each field that differs, by its name: its values before and after. Secrets are masked.'),
        }),
        'The changed records.',
      ),
    }),
    run({ engine, params: { number } }) {
      const { changes, isRevertible, ...revision } = found(engine, number);
      return {
        ...revision,
        revertible: isRevertible && !changes.some(isOfMachine),
        changes: changes.map(diffOf),
      };
    },
  }),
  operation({
    method: 'POST',
    path: 'revisions/{number}/revert',
    name: 'revertRevision',
    alone: 'A revert is a revision of its own, which other requests do not add to.',
    title: 'Makes the opposite of a revision, unless a later revision changed the same; 409 then names it.',
    params,
    query: { plan: flag(false, { description: 'Whether to answer only what it would do to the machine.' }) },
    answer: {
      anyOf: [
        objectOf('RevertedRevision', { ...head, changes: listOf(change, 'The changed records.') }),
        listOf(stringOf('One step, such as write /etc/samba/smb.conf.')),
      ],
    },
    async run({ engine, params: { number }, query, context, operations, plan }) {
      const revision = found(engine, number);
      refuseIrrevertible(revision);
      if (context.access !== undefined) refuseForbidden(context.access, revision);
      const request = { method: 'POST', path: `api/holdfast/v1/revisions/${number}/revert`, body: {} };
      if (query.plan) return titlesOf(await plan(request, context));
      await operations.onlyChange(`revert the revision ${number}: ${revision.title}`, (draft) => {
        revert(draft, revision, () => engine.revisionsAfter(number));
        refuseLockout(draft, number);
      });
      return engine.revisionOf(context.request) ?? null;
    },
  }),
]);

function found(engine: EngineToRead, number: number): WholeRevision {
  const revision = engine.revision(number);
  if (revision === undefined) throw missing(`There is no revision ${number}, or it is no longer kept.`);
  return revision;
}

const isOfMachine = ({ resource }: RecordChange) => resource.ofMachine;

function refuseIrrevertible({ number, changes, isRevertible }: WholeRevision): void {
  const machine = changes.find(isOfMachine);
  if (machine !== undefined)
    throw conflict(
      `The revision ${number} cannot be reverted: the records of ${machine.resource.path} belong to the machine, which would not follow.`,
    );
  if (!isRevertible)
    throw conflict(
      `The revision ${number} cannot be reverted: it was a part of what its request did to the machine, or was made by an earlier version of Holdfast.`,
    );
}

/** Before its first password, root had none. Without one, the owner could no longer use the interface. */
function refuseLockout(draft: View, number: number): void {
  const root = draft.find(user, 'bsdusr_uid', 0);
  if (root?.bsdusr_unixhash !== '*' || root.bsdusr_password_disabled) return;
  throw conflict(`The revision ${number} cannot be reverted: it gave root a password, and root would have none.`);
}

/** Reverting a change requires the right to make the opposite change. */
export function refuseForbidden(access: Access, { changes }: Pick<WholeRevision, 'changes'>): void {
  for (const { resource, id, before, after } of changes) {
    const verb = after === undefined ? 'create' : before === undefined ? 'remove' : 'update';
    const act = {
      ...{ resource: resource.path, declared: resource.path, record: String(id), verb, reads: false },
      ...{ fields: resource.fields, before: after },
    };
    const names = before === undefined ? [] : after === undefined ? Object.keys(before) : changedNames(before, after);
    const body = Object.fromEntries(Object.entries(before ?? {}).filter(([name]) => names.includes(name)));
    const problem = access.problem(act) ?? access.problemIn(act, body);
    if (problem !== undefined) throw new Forbidden(problem);
  }
}

function diffOf({ resource, id, before, after }: RecordChange) {
  const values: readonly Readonly<Record<string, unknown>>[] = [before ?? {}, after ?? {}];
  const names =
    before !== undefined && after !== undefined
      ? changedNames(before, after)
      : Object.keys(before ?? after ?? {}).filter((name) => name !== 'id');
  const shown = (name: string, value: unknown) =>
    resource.fields[name]?.secret === true && value !== '' && value !== null && value !== undefined ? masked : value;
  return {
    resource: resource.path,
    id,
    what: before === undefined ? 'created' : after === undefined ? 'removed' : 'updated',
    fields: Object.fromEntries(
      names.map((name) => [
        name,
        {
          ...(before !== undefined && { before: shown(name, values[0]?.[name]) }),
          ...(after !== undefined && { after: shown(name, values[1]?.[name]) }),
        },
      ]),
    ),
  };
}

const masked = '********';

/** The revisions, read from the store while they are sent. */
function* newestFirst(engine: EngineToRead, before: number | undefined): Generator<KeptRevision> {
  for (let last = before; ; ) {
    const page = engine.revisions(perRead, last);
    yield* page;
    const oldest = page.at(-1);
    if (oldest === undefined || page.length < perRead) return;
    last = oldest.number;
  }
}

/** Revisions that are read at once. */
const perRead = 100;
