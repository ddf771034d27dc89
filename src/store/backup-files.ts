import type { Engine } from '../engine/engine.ts';
import type { BackupFiles } from '../engine/services.ts';
import { newBackupSeal, readBackup, writeBackup } from './backup-file.ts';

/** The configuration of an engine, as files that leave the machine. */
export function backupFilesOf(engine: Engine): BackupFiles {
  return {
    async write(passphrase) {
      const sealed = passphrase === undefined ? undefined : await newBackupSeal(passphrase);
      return writeBackup(engine.configuration, {
        version: engine.version,
        at: new Date(engine.now()).toISOString(),
        sealed,
      });
    },
    read: (file, passphrase) => readBackup(file, { resources: [...engine.configuration.keys()], passphrase }),
  };
}
