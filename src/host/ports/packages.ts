/** What the packages of the distribution say of the machine's files. */
export interface Packages {
  /** Where the content at each of these paths comes from. Links are followed. */
  origins(paths: readonly string[]): Promise<ReadonlyMap<string, Origin>>;
}

/**
 * `absent`: nothing is there. `shipped`: a package brought the content. `local`: somebody changed what a package brought,
 * or made a file that no package knows.
 */
export type Origin = 'absent' | 'shipped' | 'local';
