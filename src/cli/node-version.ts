/**
 * Whether this version of Node can run Holdfast. Earlier versions run `.ts` files only with a flag, which `bin/start`
 * and `bin/test` do not pass. Before 22.14 the native module of the database also crashes.
 */
export function isSupportedNode(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 18);
}
