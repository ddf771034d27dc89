import { ntpServer } from '../../areas/system/ntpserver.ts';
import type { Checker, Subsystem } from '../../engine/declare/subsystem.ts';
import { hasOnlyComments } from '../local.ts';
import { chronyConf } from './chrony-conf.ts';

export const timeSubsystem: Subsystem = {
  name: 'time',
  description: 'chrony synchronizes the clock with the configured NTP servers.',
  reads: [ntpServer],
  services: ['chrony'],
  local: [
    { path: '/etc/chrony/conf.d/*', isDefault: hasOnlyComments },
    { path: '/etc/chrony/sources.d/*', isDefault: hasOnlyComments },
  ],
  render: (view) => ({
    files: [{ path: '/etc/chrony/chrony.conf', content: chronyConf(view.all(ntpServer)), verify: chronyd }],
    // chronyd cannot reload: SIGHUP terminates it.
    services: [{ name: 'chrony', running: true, onChange: 'restart' }],
  }),
};

const chronyd: Checker = {
  argv: (staged) => ['chronyd', '-p', '-f', staged],
  objection: ({ status, stdout, stderr }) =>
    status === 0
      ? undefined
      : `chrony rejects its configuration: ${(stderr.trim() || stdout.trim()).split('\n').at(-1)}`,
};
