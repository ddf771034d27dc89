import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afpSettings } from '../../../src/areas/services/afp.ts';
import { ftpSettings } from '../../../src/areas/services/ftp.ts';
import { iscsiExtent } from '../../../src/areas/services/iscsi/extent.ts';
import { rsyncModule } from '../../../src/areas/services/rsyncmod.ts';
import { tftpSettings } from '../../../src/areas/services/tftp.ts';
import { afpShare } from '../../../src/areas/sharing/afp.ts';
import { cifsShare } from '../../../src/areas/sharing/cifs.ts';
import { nfsShare } from '../../../src/areas/sharing/nfs.ts';
import { webdavShare } from '../../../src/areas/sharing/webdav.ts';
import { absenceProblems } from '../../../src/areas/storage/absent-occupants.ts';
import { snapshotTask } from '../../../src/areas/storage/task.ts';
import { freshConfiguration, machine } from '../../subsystems/support/configuration.ts';

test('everything that names a place on a volume that is not there is reported, once for each cause', () => {
  const draft = freshConfiguration();
  for (const volume of ['gone', 'away', 'tank']) {
    const at = (name: string) => `/mnt/${volume}/${name}`;
    draft.plant(cifsShare, { cifs_name: volume, cifs_path: at('cifs') });
    draft.plant(nfsShare, { nfs_paths: [at('nfs')] });
    draft.plant(afpShare, { afp_name: volume, afp_path: at('afp') });
    draft.plant(webdavShare, { webdav_name: volume, webdav_path: at('webdav') });
    draft.plant(rsyncModule, { rsyncmod_name: volume, rsyncmod_path: at('rsync') });
  }
  draft.plant(iscsiExtent, {
    iscsi_target_extent_name: 'disk',
    iscsi_target_extent_type: 'ZVOL',
    iscsi_target_extent_path: '/dev/zvol/tank/none',
  });
  draft.plant(snapshotTask, { task_filesystem: 'tank/none' });
  draft.update(tftpSettings, 1, {}, { tftp_directory: '/mnt/gone/tftp' });
  draft.update(ftpSettings, 1, {}, { ftp_anonpath: '/mnt/gone/ftp' });
  draft.update(afpSettings, 1, {}, { afp_srv_dbpath: '/mnt/gone/db' });
  const locked = machine.storage.datasets.get('locked');
  const pool = machine.storage.pools.get('tank');
  assert.ok(locked !== undefined && pool !== undefined);
  const storage = {
    ...machine.storage,
    pools: new Map([...machine.storage.pools, ['away', { ...pool, name: 'away' }]]),
    datasets: new Map([...machine.storage.datasets, ['away', { ...locked, name: 'away' }]]),
  };
  const problems = absenceProblems({ view: draft, facts: { ...machine, storage } });
  assert.deepEqual(
    problems
      .map(({ severity, about, message, affects }) => [about, severity, message.split('.')[0], affects?.toSorted()])
      .toSorted(),
    [
      [
        'storage/dataset/tank/none',
        'warning',
        'The dataset tank/none is missing',
        ['services/iscsi/extent/1', 'storage/task/1'],
      ],
      [
        'storage/volume/away',
        'warning',
        'The volume away is not mounted',
        ['services/rsyncmod/2', 'sharing/afp/2', 'sharing/cifs/2', 'sharing/nfs/2', 'sharing/webdav/2'],
      ],
      [
        'storage/volume/gone',
        'critical',
        'The volume gone is not imported',
        [
          'services/afp',
          'services/ftp',
          'services/rsyncmod/1',
          'services/tftp',
          'sharing/afp/1',
          'sharing/cifs/1',
          'sharing/nfs/1',
          'sharing/webdav/1',
        ],
      ],
    ],
  );
  const away = problems.find(({ about }) => about === 'storage/volume/away');
  assert.match(away?.message ?? '', / This affects: .*CIFS share "away", .* and .*\.$/);
});
