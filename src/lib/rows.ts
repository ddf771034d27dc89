/** A list whose items may be made when they are asked for, so that a long one needs little memory. An array is one. */
export interface Rows<T> extends Iterable<T> {
  readonly length: number;
  /** As that of an array, for positions from the beginning. */
  slice(from?: number, to?: number): Rows<T>;
}
