import { ntpServer } from '../../areas/system/ntpserver.ts';
import type { Checker, Subsystem } from '../../engine/declare/subsystem.ts';
import { saysNothing } from '../local.ts';
import { chronyConf } from './chrony-conf.ts';

export const timeSubsystem: Subsystem = {
  name: 'time',
  description: 'chrony keeps the clock right by the servers of the configuration.',
  reads: [ntpServer],
  services: ['chrony'],
  local: [
    { path: '/etc/chrony/conf.d/*', isDefault: saysNothing },
    { path: '/etc/chrony/sources.d/*', isDefault: saysNothing },
  ],
  render: (view) => ({
    files: [{ path: '/etc/chrony/chrony.conf', content: chronyConf(view.all(ntpServer)), verify: chronyd }],
    // A hangup would end it.
    services: [{ name: 'chrony', running: true, onChange: 'restart' }],
  }),
};

const chronyd: Checker = {
  argv: (staged) => ['chronyd', '-p', '-f', staged],
  objection: ({ status, stdout, stderr }) =>
    status === 0
      ? undefined
      : `The time service refuses its configuration: ${(stderr.trim() || stdout.trim()).split('\n').at(-1)}`,
};
