import { dynamicDnsSettings } from '../../areas/services/dynamicdns.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import type { Checker, Subsystem } from '../../engine/declare/subsystem.ts';
import { configFile, domainsOf, inadynConf, inadynUnit } from './inadyn-conf.ts';

export const dynamicDnsSubsystem: Subsystem = {
  name: 'dynamicdns',
  description: 'inadyn tells a provider the address of the machine.',
  reads: [dynamicDnsSettings, serviceSwitch],
  services: ['inadyn'],
  render(view) {
    const settings = view.only(dynamicDnsSettings);
    const isOnNow = isOn(view, 'dynamicdns');
    const hasDomains = domainsOf(settings).length > 0;
    return {
      files: [
        { path: configFile, mode: 0o600, content: inadynConf(settings), verify: inadyn },
        { path: '/etc/systemd/system/inadyn.service', content: inadynUnit, forServiceManager: true },
      ],
      // The service manager hands it the file when it starts.
      services: [{ name: 'inadyn', running: isOnNow && hasDomains, onChange: 'restart' }],
      omissions: isOnNow && !hasDomains ? ['dynamic DNS: no domain is set whose address could be told'] : [],
    };
  },
};

const inadyn: Checker = {
  argv: (staged) => ['inadyn', '--check-config', '-f', staged],
  objection: ({ status, stdout, stderr }) =>
    status === 0
      ? undefined
      : `The dynamic DNS client refuses its configuration: ${`${stderr}\n${stdout}`.trim().split('\n').slice(0, 2).join(' ') || `inadyn ended with ${status}.`}`,
};
