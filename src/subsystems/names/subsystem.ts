import { networkSettings } from '../../areas/network/globalconfiguration.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { lines } from '../../lib/text.ts';
import { hostsFile, nameServers, resolvConf, resolvedConf } from './names.ts';
import { proxyApt, proxyEnvironment, proxyProfile } from './proxy.ts';

export const namesSubsystem: Subsystem = {
  name: 'names',
  description: "The machine's own name, the names it knows, whom it asks for others, and its way to the web.",
  reads: [networkSettings],
  services: ['systemd-resolved'],
  // The settings of a fresh system are what these files say.
  local: ['/etc/hostname', '/etc/hosts', '/etc/resolv.conf'].map((path) => ({ path, isDefault: () => true })),
  uses: ['services'],
  after: ['network'],
  render(view, { services }) {
    const settings = view.only(networkSettings);
    const { gc_hostname: hostname, gc_httpproxy: proxy } = settings;
    // A machine without systemd-resolved keeps its own way to resolve names, until name servers are configured.
    const resolves = nameServers(settings).length > 0 || services.get('systemd-resolved')?.installed === true;
    const ifProxy = (content: (proxy: string) => string) => (proxy === '' ? undefined : content(proxy));
    return {
      hostname,
      files: [
        { path: '/etc/hostname', content: lines(hostname) },
        { path: '/etc/hosts', content: hostsFile(settings) },
        { path: '/etc/systemd/resolved.conf.d/holdfast.conf', content: resolvedConf(settings) },
        ...(resolves ? [{ path: '/etc/resolv.conf', content: resolvConf(settings) }] : []),
        { path: '/etc/profile.d/holdfast-proxy.sh', content: ifProxy(proxyProfile) },
        {
          path: '/etc/systemd/system.conf.d/holdfast-proxy.conf',
          content: ifProxy(proxyEnvironment),
          forServiceManager: true,
        },
        { path: '/etc/apt/apt.conf.d/80holdfast-proxy', content: ifProxy(proxyApt) },
      ],
      services: resolves ? [{ name: 'systemd-resolved', running: true, onChange: 'reload' }] : [],
    };
  },
};
