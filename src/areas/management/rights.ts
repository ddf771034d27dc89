import type { Access } from '../../engine/declare/access.ts';
import { IssueList, invalid } from '../../engine/declare/errors.ts';
import { type Fields, optional } from '../../engine/declare/fields.ts';
import type { OperationCall } from '../../engine/declare/operation.ts';
import { flagOf, listOf, objectOf, orNull, stringOf, timeOf } from '../../engine/declare/schema.ts';
import { permissionsOf } from '../keys/key-access.ts';
import type { Rights } from '../rights/rights.ts';

const permission = objectOf('Permission', {
  resources: listOf(stringOf('One pattern.'), 'Patterns of resources or records, such as sharing/*.'),
  verbs: listOf(stringOf('One of them.'), 'Verbs and names of actions; * for all.'),
  fields: listOf(stringOf('Name of a field.'), 'The fields that may be sent; empty for all.'),
  raw: flagOf('Whether it includes what amounts to root: raw lines, commands, accounts, keys.'),
});

/** The rights of a key or an account, as they are shown. */
export const rightsMembers = {
  role: stringOf('Ready-made permissions; empty for none.'),
  permissions: listOf(permission, 'Permissions in addition to the role.'),
  dataset: stringOf('The dataset that its changes are confined to; empty for none.'),
  addresses: listOf(stringOf('One of them.'), 'Addresses and networks that it may be used from; all when empty.'),
  expires: orNull(timeOf('When it expires; null for never.')),
  enabled: flagOf('Whether it is accepted.'),
  disabled: orNull(timeOf('Since when it is disabled; null while it is enabled.')),
  created: timeOf('When it was made.'),
  created_by: stringOf('Account or key that made it.'),
};

/** Refuses rights that would permit nothing, or more than those of who gives them. */
export function checkRights(rights: Rights, access: Access | undefined): void {
  const issues = new IssueList();
  if (permissionsOf(rights).length === 0) issues.add('permissions', 'A role or at least one permission is required.');
  if (rights.role === 'provisioner' && rights.dataset === '')
    issues.add('dataset', 'dataset is required when role is provisioner.');
  if (rights.dataset !== '' && permissionsOf(rights).some(({ raw }) => raw))
    issues.add('dataset', 'A dataset excludes permissions with raw, which are not limited by a dataset.');
  issues.throwIfAny();
  checkGrant(rights, access);
}

/** A key or an account manages only those that may do no more than itself. */
export function checkGrant(rights: Rights, access: Access | undefined): void {
  const expires = rights.expires === '' ? undefined : Date.parse(rights.expires);
  const permissions = permissionsOf(rights);
  const { addresses, dataset } = rights;
  const problem = access?.problemOfGrant({ permissions, addresses, expires, dataset });
  if (problem !== undefined) throw invalid({ permissions: [problem] });
}

/** The time of the end as it is shown. */
export const shownEnd = (expires: string): string | null => (expires === '' ? null : new Date(expires).toISOString());

type Call = Pick<OperationCall, 'operations' | 'context'>;

/** The time now, as records have it. */
export const nowOf = ({ operations }: Pick<Call, 'operations'>): string => new Date(operations.now()).toISOString();

/** What a new key, or an account that is given rights, has beside what was sent. */
export function originOf(call: Call, enabled: boolean) {
  const created = nowOf(call);
  return { created, created_by: call.context.actor, disabled: enabled ? null : created };
}

/** Since when it is disabled after a change that sent `enabled`. */
export function disabledAfter(
  before: Rights & { readonly disabled: string | null },
  enabled: boolean | undefined,
  call: Call,
): string | null {
  return (enabled ?? before.enabled) ? null : (before.disabled ?? nowOf(call));
}

/** The values that were sent. */
export function sentOf(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}

/** The same fields, none of which has to be sent. */
export function optionals<F extends Fields>(fields: F) {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, optional({ ...field, required: false })]),
  );
}
