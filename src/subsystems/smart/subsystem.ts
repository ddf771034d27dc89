import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import { smartService, smartSettings } from '../../areas/services/smart.ts';
import { diskRecord, identifierOf, settingsFor } from '../../areas/storage/disks.ts';
import { smartTest } from '../../areas/tasks/smarttest.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { quote } from '../../lib/text.ts';
import { smartdConf, smartdDefaults, smartdUnit } from './smartd-conf.ts';

export const smartSubsystem: Subsystem = {
  name: 'smart',
  description: 'smartd monitors the disks and starts their self-tests.',
  reads: [smartTest, diskRecord, smartSettings, serviceSwitch],
  services: smartService.programs,
  uses: ['disks'],
  render(view, { disks }) {
    const settings = view.only(smartSettings);
    const defaults = smartdDefaults(settings);
    const running = isOn(view, smartService);
    const tests = view.all(smartTest);
    return {
      // No checker: `smartd -q onecheck` opens every disk and wakes those in standby.
      files: [
        {
          path: '/etc/smartd.conf',
          content: smartdConf(
            settings,
            disks.map((disk) => [disk, settingsFor(disk, view)]),
            tests,
          ),
        },
        { path: '/etc/default/smartmontools', content: defaults },
        {
          path: '/etc/systemd/system/smartmontools.service.d/holdfast.conf',
          content: running ? smartdUnit : undefined,
          forServiceManager: true,
        },
      ],
      services: [{ name: 'smartmontools', running, onChange: 'reload', readAtStart: defaults }],
    };
  },
  problems(view, { disks }) {
    const known = new Set(disks.map(identifierOf));
    return view.all(smartTest).flatMap(({ id, smarttest_disks }) =>
      smarttest_disks
        .filter((identifier) => !known.has(identifier))
        .map((identifier) => ({
          kind: 'missing',
          about: `${smartTest.path}/${id}`,
          detail: identifier,
          severity: 'warning',
          message: `The SMART test ${id} does not test the disk ${quote(identifier)}, which is missing.`,
        })),
    );
  },
};
