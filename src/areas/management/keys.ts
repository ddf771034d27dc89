import { missing, refused } from '../../engine/declare/errors.ts';
import { choice, integer, required, text } from '../../engine/declare/fields.ts';
import { type OperationCall, operation, section } from '../../engine/declare/operation.ts';
import { isSentOf } from '../../engine/declare/record.ts';
import type { Draft } from '../../engine/declare/resource.ts';
import { flagOf, integerOf, listOf, objectOf, orNull, stringOf, timeOf } from '../../engine/declare/schema.ts';
import { type Key, keyFields, keyRecord, removedKey } from '../keys/key.ts';
import { accessOf } from '../keys/key-ring.ts';
import { digestOf, newToken } from '../keys/token.ts';
import {
  checkGrant,
  checkRights,
  disabledAfter,
  nowOf,
  optionals,
  originOf,
  rightsMembers,
  sentOf,
  shownEnd,
} from './rights.ts';

/** Removed keys that are remembered. */
const mostRemoved = 1000;

const members = {
  id: integerOf('Id of the key.'),
  name: stringOf('Name of the key.'),
  ...rightsMembers,
  last_used: orNull(timeOf('When it was last used; null if never.')),
  last_address: orNull(stringOf('From where it was last used.')),
};

const answer = objectOf('Key', members);

const params = { id: integer({ description: 'Id of the key.', min: 1 }) };

export const keys = section('keys', 'Keys with which programs use the API instead of the password of root.', [
  operation({
    method: 'GET',
    path: 'keys',
    name: 'listKeys',
    title: 'Lists the keys.',
    answer: listOf(answer),
    list: { key: ['id'] },
    run: (call) => call.engine.world.view.all(keyRecord).map((key) => shown(key, call)),
  }),
  operation({
    method: 'POST',
    path: 'keys',
    name: 'createKey',
    title: 'Makes a key. The answer shows the key itself, which is not stored and cannot be shown again.',
    body: keyFields,
    status: 201,
    answer: objectOf('NewKey', { key: stringOf('The key, for Authorization: Bearer or as a password.'), ...members }),
    example: {
      body: {
        name: 'backup',
        permissions: [{ resources: ['storage/snapshot'], verbs: ['read', 'create'] }],
        expires: '2100-01-31T06:00:00Z',
      },
    },
    async run(call) {
      const { body, context, operations } = call;
      const token = newToken();
      const id = await operations.onlyChange(`create the key ${body.name}`, (draft) => {
        const made = draft.create(keyRecord, body, { digest: digestOf(token), ...originOf(call, body.enabled) });
        checkRights(made, context.access);
        return made.id;
      });
      return { key: token, ...shown(found(call, id), call) };
    },
  }),
  operation({
    method: 'GET',
    path: 'keys/removed',
    name: 'listRemovedKeys',
    title: `Lists the last ${mostRemoved} removed keys.`,
    answer: listOf(
      objectOf('RemovedKey', {
        name: stringOf('Name of the key.'),
        removed: timeOf('When it was removed.'),
        removed_by: stringOf('Account or key that removed it.'),
      }),
    ),
    run: ({ engine }) =>
      engine.world.view.all(removedKey).map(({ name, removed, removed_by }) => ({ name, removed, removed_by })),
  }),
  operation({
    method: 'GET',
    path: 'keys/{id}',
    name: 'getKey',
    title: 'Reads a key.',
    params,
    answer,
    run: (call) => shown(found(call, call.params.id), call),
  }),
  operation({
    method: 'PUT',
    path: 'keys/{id}',
    name: 'updateKey',
    title: 'Changes a key, for example its permissions, or disables it. What is not sent stays.',
    params,
    body: optionals(keyFields),
    answer,
    example: { body: { enabled: false } },
    async run(call) {
      const { body, context, operations, params: sentParams } = call;
      const before = found(call, sentParams.id);
      checkGrant(before, context.access);
      const sent = sentOf(body);
      if (!isSentOf(keyRecord.fields, sent)) throw new TypeError('a value of the request belongs to no field');
      await operations.onlyChange(`change the key ${before.name}`, (draft) => {
        const disabled = disabledAfter(before, sent.enabled, call);
        checkRights(draft.update(keyRecord, before.id, sent, { disabled }), context.access);
      });
      return shown(found(call, before.id), call);
    },
  }),
  operation({
    method: 'DELETE',
    path: 'keys/{id}',
    name: 'removeKey',
    title: 'Removes a key. Programs that still use it are answered 401 with the time of the removal.',
    params,
    status: 204,
    answer: 'nothing',
    async run(call) {
      const { context, operations, params: sentParams } = call;
      const before = found(call, sentParams.id);
      checkGrant(before, context.access);
      await operations.onlyChange(`remove the key ${before.name}`, (draft) => {
        draft.remove(keyRecord, before.id);
        draft.create(
          removedKey,
          { name: before.name },
          { digest: before.digest, removed: nowOf(call), removed_by: context.actor },
        );
        forgetOldest(draft);
      });
    },
  }),
  operation({
    method: 'GET',
    path: 'keys/{id}/may',
    name: 'mayKey',
    title: 'Answers whether a key may send a request, and why not. The fields of its body are judged when it is sent.',
    params,
    query: {
      method: required(choice(['GET', 'POST', 'PUT', 'DELETE'], { description: 'Method of the request.' })),
      path: required(
        text({ description: 'Path of the request, such as /api/v1.0/sharing/cifs/ or sharing/cifs/.', max: 4096 }),
      ),
    },
    answer: objectOf('May', {
      may: flagOf('Whether the request is permitted.'),
      why: orNull(stringOf('Why it is not permitted; null if it is.')),
    }),
    example: { query: { method: 'GET', path: '/api/v1.0/sharing/cifs/' } },
    run(call) {
      const key = found(call, call.params.id);
      const act = call.actOf(call.query.method, call.query.path);
      if (act === undefined)
        throw refused(
          `Expected the path of a resource that has the method ${call.query.method}, such as sharing/cifs/.`,
        );
      const why = stateProblem(key, call.engine.now()) ?? (act === 'open' ? undefined : accessOf(key).problem(act));
      return { may: why === undefined, why: why ?? null };
    },
  }),
]);

type Call = Pick<OperationCall, 'engine' | 'context' | 'keyUses' | 'operations'>;

function found({ operations }: Call, id: number): Key {
  const key = operations.world.view.get(keyRecord, id);
  if (key === undefined) throw missing(`There is no key ${id}; GET /api/holdfast/v1/keys lists the keys.`);
  return key;
}

function shown(key: Key, { keyUses }: Call) {
  const { digest: _, expires, ...rest } = key;
  const use = keyUses.get(key.id);
  return {
    ...rest,
    expires: shownEnd(expires),
    last_used: use?.at ?? null,
    last_address: use?.address ?? null,
  };
}

/** Why a key is not accepted at all. */
function stateProblem({ name, enabled, disabled, expires }: Key, now: number): string | undefined {
  if (!enabled) return `The key "${name}" is disabled since ${disabled}.`;
  return expires !== '' && Date.parse(expires) <= now ? `The key "${name}" expired on ${expires}.` : undefined;
}

function forgetOldest(draft: Draft): void {
  const all = draft.all(removedKey).toSorted((a, b) => a.id - b.id);
  for (const { id } of all.slice(0, -mostRemoved)) draft.remove(removedKey, id);
}
