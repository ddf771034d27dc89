/**
 * Recognise file contents that an installation wrote and no administrator changed. Here are those for files that
 * several subsystems share or that look alike.
 */

/** Whether every line is empty or a comment, as in the example files of Debian. */
export function hasOnlyComments(content: string): boolean {
  return content.split('\n').every((line) => /^\s*([#;].*)?$/.test(line));
}

/**
 * Whether Samba is a standalone server. As a domain member or controller it also defines which accounts the machine
 * has.
 */
export function isStandalone(smbConf: string): boolean {
  return !/^\s*(security\s*=\s*(ads|domain)|server role\s*=\s*.*(domain|member))/im.test(smbConf);
}

/**
 * Whether Samba's account database is empty. The key of each account begins with USER_; the account `nobody` may exist
 * by default.
 */
export function hasNoAccounts(passdb: string): boolean {
  return !/USER_(?!nobody\0)[^\0]/.test(passdb);
}
