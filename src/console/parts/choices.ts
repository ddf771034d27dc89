/** The records that a field can refer to, by their names. */
import { addressOf, formOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { rowsIn, textIn } from '../base/json.ts';
import { useLive } from '../base/live.ts';

export interface Choice {
  readonly id: string;
  readonly name: string;
}

const most = 1000;

/** The records of a resource; none without a path. */
export function useChoices(path: string | undefined, isPath = false): readonly Choice[] {
  const { value = [] } = useLive(`choices ${path} ${isPath}`, [`record:${path}`], () => readChoices(path, isPath));
  return value;
}

async function readChoices(path: string | undefined, isPath: boolean): Promise<readonly Choice[]> {
  const form = path === undefined ? undefined : await formOf(path);
  if (form === undefined) return [];
  const name = isPath ? 'mountpoint' : (form.name_field ?? form.key_field);
  const fields = [...new Set([form.key_field, name])].join(',');
  const rows = rowsIn(await client.request('GET', `${addressOf(form.path)}?limit=${most}&fields=${fields}`));
  return rows
    .map((row) => ({ id: textIn(row[form.key_field]), name: textIn(row[name]) }))
    .filter((one) => one.name !== '' && one.name !== '-');
}
