import { rsyncdSettings, rsyncService } from '../../areas/services/rsyncd.ts';
import { rsyncModule } from '../../areas/services/rsyncmod.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { absence } from '../../engine/facts/places.ts';
import { rsyncdAdoption } from './adopt.ts';
import { globalLines, moduleLines } from './rsyncd-conf.ts';

export const rsyncdSubsystem: Subsystem = {
  name: 'rsyncd',
  description: 'The rsync daemon serves its modules.',
  followsPool: true,
  reads: [rsyncdSettings, rsyncModule, serviceSwitch],
  adopts: rsyncdAdoption,
  services: rsyncService.programs,
  uses: ['storage'],
  after: ['accounts'],
  render(view, facts) {
    const global = globalLines(view.only(rsyncdSettings));
    const served = view
      .all(rsyncModule)
      .filter(({ rsyncmod_path }) => absence({ path: rsyncmod_path }, facts.storage) === undefined)
      .map(moduleLines);
    return {
      files: [{ path: '/etc/rsyncd.conf', content: [global, ...served].join('') }],
      // rsync reads the file for every connection; only the global part needs a restart.
      services: [{ name: 'rsync', running: isOn(view, rsyncService), onChange: 'nothing', readAtStart: global }],
    };
  },
};
