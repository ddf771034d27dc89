export const smbConfFile = '/etc/samba/smb.conf';

/** The path of a file with a group of shares, which smb.conf includes. */
export const sharesFile = (group: number) => `${sharesPrefix}${group}.conf`;
export const sharesPrefix = '/etc/samba/holdfast/shares-';

/** Samba's password file, which the subsystem `accounts` renders. */
export const smbPasswordFile = '/etc/samba/smbpasswd';
