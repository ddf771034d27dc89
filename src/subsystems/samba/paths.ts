export const smbConfFile = '/etc/samba/smb.conf';

/** One of the files that smb.conf includes, each with some of the shares. */
export const sharesFile = (group: number) => `${sharesBeginning}${group}.conf`;
export const sharesBeginning = '/etc/samba/holdfast/shares-';

/** Samba's own password file, which the accounts unit renders. */
export const smbPasswordFile = '/etc/samba/smbpasswd';
