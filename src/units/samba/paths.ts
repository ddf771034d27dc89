export const smbConfFile = '/etc/samba/smb.conf';

/** Samba's own password file, which the accounts unit renders. */
export const smbPasswordFile = '/etc/samba/smbpasswd';
