/** Where the backups of the configuration are on each pool, below its mount point. */
export const backupsFolder = '.holdfast';

/** The name of the file of a backup; the number is that of its revision. */
export const backupName = /^configuration-(\d{8,})\.json$/;

/** The file of the backup of a revision. */
export const fileOfBackup = (revision: number): string => `configuration-${String(revision).padStart(8, '0')}.json`;

/** The revision of a backup, by the path of its file; undefined for another file. */
export function revisionOfBackup(path: string): number | undefined {
  const number = backupName.exec(path.slice(path.lastIndexOf('/') + 1))?.[1];
  return number === undefined ? undefined : Number(number);
}
