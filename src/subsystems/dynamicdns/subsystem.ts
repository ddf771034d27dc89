import { dynamicDnsService, dynamicDnsSettings } from '../../areas/services/dynamicdns.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import type { Checker, Subsystem } from '../../engine/declare/subsystem.ts';
import { configFile, domainsOf, inadynConf, inadynUnit } from './inadyn-conf.ts';

export const dynamicDnsSubsystem: Subsystem = {
  name: 'dynamicdns',
  description: 'inadyn reports the address of the machine to a dynamic DNS provider.',
  followsPool: true,
  reads: [dynamicDnsSettings, serviceSwitch],
  services: dynamicDnsService.programs,
  render(view) {
    const settings = view.only(dynamicDnsSettings);
    const enabled = isOn(view, dynamicDnsService);
    const hasDomains = domainsOf(settings).length > 0;
    return {
      files: [
        { path: configFile, mode: 0o600, content: inadynConf(settings), verify: inadyn },
        { path: '/etc/systemd/system/inadyn.service', content: inadynUnit, forServiceManager: true },
      ],
      // systemd passes the file as a credential when the service starts.
      services: [{ name: 'inadyn', running: enabled && hasDomains, onChange: 'restart' }],
    };
  },
  problems: (view) =>
    isOn(view, dynamicDnsService) && domainsOf(view.only(dynamicDnsSettings)).length === 0
      ? [
          {
            kind: 'incomplete',
            about: dynamicDnsSettings.path,
            severity: 'warning',
            message: 'Dynamic DNS updates no address, because ddns_domain is empty.',
          },
        ]
      : [],
};

const inadyn: Checker = {
  argv: (staged) => ['inadyn', '--check-config', '-f', staged],
  objection: ({ status, stdout, stderr }) =>
    status === 0
      ? undefined
      : `The dynamic DNS client rejects its configuration: ${`${stderr}\n${stdout}`.trim().split('\n').slice(0, 2).join(' ') || `inadyn exited with status ${status}.`}`,
};
