import { Api } from './api.ts';
import type { Appliance } from './appliance.ts';
import { managementRoot } from './management.ts';

/** A new key, as an API of its own. */
export async function withKey(
  { api }: Pick<Appliance, 'api'>,
  body: Readonly<Record<string, unknown>>,
): Promise<{ readonly id: number; readonly key: string; readonly api: Api }> {
  const made = await api.expect(201, 'POST', `${managementRoot}/keys`, body);
  const key = String(made['key']);
  return { id: Number(made['id']), key, api: new Api(api.url, { user: String(body['name']), password: key }) };
}

/** Everything but what amounts to root: the widest key without `raw`. */
export const widest = { name: 'widest', permissions: [{ resources: ['**'], verbs: ['*'] }] } as const;
