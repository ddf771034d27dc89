import { plugin } from '../../areas/plugins/plugins.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { descriptionOf, pluginService, pluginsFolder } from '../../host/ports/plugins.ts';
import { pluginDescription, pluginUnit } from './plugin-unit.ts';

const folder = '/etc/systemd/system';

export const pluginsSubsystem: Subsystem = {
  name: 'plugins',
  description: 'Each plugin is a systemd unit bound to the unit of its jail.',
  followsPool: true,
  reads: [plugin],
  after: ['jails'],
  render(view) {
    return {
      files: view.all(plugin).flatMap((one) => [
        { path: `${folder}/${pluginService(one.id)}.service`, content: pluginUnit(one), forServiceManager: true },
        { path: descriptionOf(one.id), content: pluginDescription(one) },
      ]),
      owns: [`${folder}/${pluginService('*').slice(0, -1)}`, `${pluginsFolder}/`],
    };
  },
};
