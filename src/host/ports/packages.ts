/** The relation of files to the packages of the distribution. */
export interface Packages {
  /** The origin of the content at each of these paths. Links are followed. */
  origins(paths: readonly string[]): Promise<ReadonlyMap<string, Origin>>;
}

/**
 * `absent`: nothing is there. `shipped`: the content is that of a package. `local`: the file of a package was changed,
 * or the file belongs to no package.
 */
export type Origin = 'absent' | 'shipped' | 'local';
