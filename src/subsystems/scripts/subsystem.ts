import { lateUnits } from '../../areas/services/index.ts';
import { startScript } from '../../areas/tasks/initshutdown.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { type Moment, postinitUnit, preinitUnit, shutdownUnit, startDropIn, unitName } from './script-units.ts';

export const scriptsSubsystem: Subsystem = {
  name: 'scripts',
  description: 'Commands and scripts that run when the machine starts and shuts down.',
  reads: [startScript],
  services: [unitName('shutdown')],
  render(view) {
    const enabled = view.all(startScript).filter((script) => script.ini_enabled);
    const at = (moment: Moment) => enabled.filter((script) => script.ini_when === moment);
    const file = (path: string, content: string, mode = 0o644) => ({
      path: `/etc/systemd/system/${path}`,
      content,
      mode,
      forServiceManager: true,
    });
    // Only root may read a file with commands, because one may contain a password. systemd warns of such a file each
    // time it reads it, so the files without commands are like those of any other unit.
    const unit = (moment: Moment, content: string) =>
      file(`${unitName(moment)}.service`, content, at(moment).length === 0 ? 0o644 : 0o600);
    return {
      files: [
        unit('preinit', preinitUnit(at('preinit'), lateUnits)),
        unit('postinit', postinitUnit(at('postinit'))),
        unit('shutdown', shutdownUnit(at('shutdown'), lateUnits)),
        file('multi-user.target.d/holdfast.conf', startDropIn),
      ],
      // The unit runs even without scripts, and a change does not restart it: stopping it would run the scripts.
      services: [{ name: unitName('shutdown'), running: true, onChange: 'nothing' }],
    };
  },
};
