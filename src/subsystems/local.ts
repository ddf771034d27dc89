/** Recognisers of contents that are no person's work, for files that several subsystems share or that are alike. */

/** A file in which every line is empty or a comment, as Debian ships examples. */
export function saysNothing(content: string): boolean {
  return content.split('\n').every((line) => /^\s*([#;].*)?$/.test(line));
}

/** Samba as a server of its own: as a member of a domain, or as its controller, it is part of who the machine's accounts are. */
export function isStandalone(smbConf: string): boolean {
  return !/^\s*(security\s*=\s*(ads|domain)|server role\s*=\s*.*(domain|member))/im.test(smbConf);
}

/** Whether Samba's database of accounts has none: the key of each begins with USER_. The account `nobody` may be there by default. */
export function hasNoAccounts(passdb: string): boolean {
  return !/USER_(?!nobody\0)[^\0]/.test(passdb);
}

/** `/etc/default/tftpd-hpa` as the installation writes it without answers. */
export function isPackagedTftp(defaults: string): boolean {
  const set = new Map(Array.from(defaults.matchAll(/^(TFTP_\w+)="?(.*?)"?$/gm), ([, name, value]) => [name, value]));
  return (
    set.get('TFTP_DIRECTORY') === '/srv/tftp' &&
    set.get('TFTP_ADDRESS') === ':69' &&
    set.get('TFTP_OPTIONS') === '--secure'
  );
}
