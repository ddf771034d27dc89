import { networkSettings } from '../../areas/network/globalconfiguration.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { lines } from '../../lib/text.ts';
import { hostsFile, nameServers, resolvConf, resolvedConf } from './names.ts';
import { proxyApt, proxyEnvironment, proxyProfile } from './proxy.ts';

export const namesSubsystem: Subsystem = {
  name: 'names',
  description: 'Host name, hosts table, name servers and HTTP proxy of the machine.',
  reads: [networkSettings],
  services: ['systemd-resolved'],
  // The first start takes the initial settings from these files.
  local: ['/etc/hostname', '/etc/hosts', '/etc/resolv.conf'].map((path) => ({ path, isDefault: () => true })),
  uses: ['services'],
  after: ['network'],
  render(view, { services }) {
    const settings = view.only(networkSettings);
    const { gc_hostname: hostname, gc_httpproxy: proxy } = settings;
    // Without systemd-resolved, resolv.conf stays unchanged until name servers are configured.
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
