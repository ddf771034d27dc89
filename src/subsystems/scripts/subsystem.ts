import { daemonsOf, switchNames } from '../../areas/services/daemons.ts';
import { startScript } from '../../areas/tasks/initshutdown.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { type Moment, postinitUnit, preinitUnit, shutdownUnit, startDropIn, unitName } from './script-units.ts';

/** What the scripts of a start run before, and those of an end too. */
const services = switchNames.filter((name) => name !== 'ssh').flatMap((name) => daemonsOf[name]);

export const scriptsSubsystem: Subsystem = {
  name: 'scripts',
  description: 'What the machine runs when it starts and when it ends.',
  reads: [startScript],
  services: [unitName('shutdown')],
  render(view) {
    const enabled = view.all(startScript).filter((script) => script.ini_enabled);
    const at = (moment: Moment) => enabled.filter((script) => script.ini_when === moment);
    const file = (path: string, content: string) => ({
      path: `/etc/systemd/system/${path}`,
      content,
      mode: 0o600,
      forServiceManager: true,
    });
    return {
      // For root alone: a command may hold a password.
      files: [
        file(`${unitName('preinit')}.service`, preinitUnit(at('preinit'), services)),
        file(`${unitName('postinit')}.service`, postinitUnit(at('postinit'))),
        file(`${unitName('shutdown')}.service`, shutdownUnit(at('shutdown'), services)),
        file('multi-user.target.d/holdfast.conf', startDropIn),
      ],
      // It runs without scripts too: to stop it, or to start it anew, would run those it has.
      services: [{ name: unitName('shutdown'), running: true, onChange: 'nothing' }],
    };
  },
};
