/** Reports the progress of a resource's part of the start. */
export interface StartProgress {
  /**
   * Runs `perform` for all items in parallel, reported as `importing tank, 3 of 5`. Throws the first error after all
   * have ended.
   */
  each<T>(
    doing: string,
    items: readonly T[],
    nameOf: (item: T) => string,
    perform: (item: T) => Promise<void>,
  ): Promise<void>;
}
