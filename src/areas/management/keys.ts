import type { Access } from '../../engine/declare/access.ts';
import { IssueList, invalid, missing, refused } from '../../engine/declare/errors.ts';
import { choice, type Fields, integer, optional, required, text } from '../../engine/declare/fields.ts';
import { type OperationCall, operation, section } from '../../engine/declare/operation.ts';
import { isSentOf } from '../../engine/declare/record.ts';
import type { Draft } from '../../engine/declare/resource.ts';
import { flagOf, integerOf, listOf, objectOf, orNull, stringOf, timeOf } from '../../engine/declare/schema.ts';
import { type Key, keyFields, keyRecord, removedKey } from '../keys/key.ts';
import { KeyAccess, permissionsOf } from '../keys/key-access.ts';
import { digestOf, newToken } from '../keys/token.ts';

/** Removed keys that are remembered. */
const mostRemoved = 1000;

const permission = objectOf('Permission', {
  resources: listOf(stringOf('One pattern.'), 'Patterns of resources or records, such as sharing/*.'),
  verbs: listOf(stringOf('One of them.'), 'Verbs and names of actions; * for all.'),
  fields: listOf(stringOf('Name of a field.'), 'The fields that may be sent; empty for all.'),
  raw: flagOf('Whether it includes what amounts to root: raw lines, commands, accounts, keys.'),
});

const members = {
  id: integerOf('Id of the key.'),
  name: stringOf('Name of the key.'),
  role: stringOf('Ready-made permissions; empty for none.'),
  permissions: listOf(permission, 'Permissions in addition to the role.'),
  dataset: stringOf('The dataset that its changes are confined to; empty for none.'),
  addresses: listOf(stringOf('One of them.'), 'Addresses and networks that it may be used from; all when empty.'),
  expires: orNull(timeOf('When it expires; null for never.')),
  enabled: flagOf('Whether it is accepted.'),
  disabled: orNull(timeOf('Since when it is disabled; null while it is enabled.')),
  created: timeOf('When it was made.'),
  created_by: stringOf('Account or key that made it.'),
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
      const { engine, body, context } = call;
      const token = newToken();
      const id = await engine.change(`create the key ${body.name}`, context, (draft) => {
        const made = draft.create(keyRecord, body, {
          digest: digestOf(token),
          created: nowOf(call),
          created_by: context.actor,
          disabled: body.enabled ? null : nowOf(call),
        });
        checkKey(made, call);
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
      const { engine, body, context, params: sentParams } = call;
      const before = found(call, sentParams.id);
      checkGrant(before, context.access);
      const sent = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
      if (!isSentOf(keyRecord.fields, sent)) throw new TypeError('a value of the request belongs to no field');
      const enabled = sent.enabled ?? before.enabled;
      await engine.change(`change the key ${before.name}`, context, (draft) => {
        const disabled = enabled ? null : (before.disabled ?? nowOf(call));
        checkKey(draft.update(keyRecord, before.id, sent, { disabled }), call);
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
      const { engine, context, params: sentParams } = call;
      const before = found(call, sentParams.id);
      checkGrant(before, context.access);
      await engine.change(`remove the key ${before.name}`, context, (draft) => {
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
      const why =
        stateProblem(key, call.engine.now()) ?? (act === 'open' ? undefined : new KeyAccess(key).problem(act));
      return { may: why === undefined, why: why ?? null };
    },
  }),
]);

type Call = Pick<OperationCall, 'engine' | 'context' | 'keyUses'>;

const nowOf = ({ engine }: Call) => new Date(engine.now()).toISOString();

function found({ engine }: Call, id: number): Key {
  const key = engine.world.view.get(keyRecord, id);
  if (key === undefined) throw missing(`There is no key ${id}; GET /api/holdfast/v1/keys lists the keys.`);
  return key;
}

function shown(key: Key, { keyUses }: Call) {
  const { digest: _, expires, ...rest } = key;
  const use = keyUses.get(key.id);
  return {
    ...rest,
    expires: expires === '' ? null : new Date(expires).toISOString(),
    last_used: use?.at ?? null,
    last_address: use?.address ?? null,
  };
}

/** Why a key is not accepted at all. */
function stateProblem({ name, enabled, disabled, expires }: Key, now: number): string | undefined {
  if (!enabled) return `The key "${name}" is disabled since ${disabled}.`;
  return expires !== '' && Date.parse(expires) <= now ? `The key "${name}" expired on ${expires}.` : undefined;
}

/** Refuses a key that would do nothing or has more rights than the one that makes it. */
function checkKey(key: Key, { context }: Call): void {
  const issues = new IssueList();
  if (permissionsOf(key).length === 0) issues.add('permissions', 'A key requires a role or at least one permission.');
  if (key.role === 'provisioner' && key.dataset === '')
    issues.add('dataset', 'dataset is required when role is provisioner.');
  if (key.dataset !== '' && permissionsOf(key).some(({ raw }) => raw))
    issues.add('dataset', 'A key with a dataset cannot have a permission with raw, which is not limited by a dataset.');
  issues.throwIfAny();
  checkGrant(key, context.access);
}

/** A key manages only keys that may do no more than itself. */
function checkGrant(key: Key, access: Access | undefined): void {
  const expires = key.expires === '' ? undefined : Date.parse(key.expires);
  const permissions = permissionsOf(key);
  const problem = access?.problemOfGrant({ permissions, addresses: key.addresses, expires, dataset: key.dataset });
  if (problem !== undefined) throw invalid({ permissions: [problem] });
}

function forgetOldest(draft: Draft): void {
  const all = draft.all(removedKey).toSorted((a, b) => a.id - b.id);
  for (const { id } of all.slice(0, -mostRemoved)) draft.remove(removedKey, id);
}

/** The same fields, none of which has to be sent. */
function optionals<F extends Fields>(fields: F) {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, optional({ ...field, required: false })]),
  );
}
