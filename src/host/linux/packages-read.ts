/** Pure readers of the records that dpkg and ucf keep of configuration files. */

/** The MD5 sums of the configuration files as packages shipped them, from dpkg's `status`. */
export function readConffiles(status: string): ReadonlyMap<string, string> {
  return new Map(
    Array.from(status.matchAll(/^ (\/\S+) ([0-9a-f]{32})(?: obsolete)?$/gm), ([, path = '', sum = '']) => [path, sum]),
  );
}

/** The same from ucf's `hashfile`, for files that a package makes at its installation. */
export function readUcfHashes(hashfile: string): ReadonlyMap<string, string> {
  return new Map(
    Array.from(hashfile.matchAll(/^([0-9a-f]{32}) +(\/\S+)$/gm), ([, sum = '', path = '']) => [path, sum]),
  );
}
