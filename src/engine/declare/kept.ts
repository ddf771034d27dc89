import type { Fields } from './fields.ts';
import type { Collection, RecordOf, Singleton } from './resource.ts';

/** The resources whose records the store keeps. */
export type Kept<F extends Fields = Fields> = Collection<F> | Singleton<F>;

/** A change of one record. `before` is undefined for a creation, `after` for a removal. */
export interface RecordChange {
  readonly resource: Kept;
  readonly id: number;
  readonly before: RecordOf<Fields> | undefined;
  readonly after: RecordOf<Fields> | undefined;
}
