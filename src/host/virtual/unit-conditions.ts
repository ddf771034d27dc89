import { testparm } from './testparm.ts';

/** Whether a condition of Debian's unit is not met, so that systemd skips it: that of nmbd while Samba has NetBIOS off. */
export function isSkipped(unit: string, read: (path: string) => string | undefined): boolean {
  if (unit !== 'nmbd') return false;
  const { stdout } = testparm('/etc/samba/smb.conf', read);
  const global = /^\[global\]\n((?:\t.*\n)*)/im.exec(stdout)?.[1] ?? '';
  return /^\tdisable\s*netbios = (?:yes|true|on|1)$/im.test(global);
}
