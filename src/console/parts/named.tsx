import { shown } from '../base/format.ts';
import { textIn } from '../base/json.ts';
import { useChoices } from './choices.ts';

/** The name of the record that an id belongs to, or the names of several. */
export function Named({ path, value }: { path: string; value: unknown }) {
  const choices = useChoices(path);
  const nameOf = (id: unknown) => choices.find((one) => one.id === textIn(id))?.name ?? shown(id, null);
  return <>{Array.isArray(value) ? value.map(nameOf).join(', ') || '–' : nameOf(value)}</>;
}
