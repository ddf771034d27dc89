import { syslogLevels, syslogTarget, systemSettings } from '../../areas/system/settings.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import type { Checker, Subsystem } from '../../engine/declare/subsystem.ts';
import { lines } from '../../lib/text.ts';

const service = 'holdfast-syslog';
const configuration = '/etc/holdfast/syslog.conf';

/** A sender of its own, so that the machine's own logging, whatever it is, stays as it is. */
const unitFile = lines(
  '[Unit]',
  'Description=Sends the log of this appliance to a log server',
  'After=network.target',
  '[Service]',
  `ExecStart=/usr/sbin/rsyslogd -n -f ${configuration} -i NONE`,
  'Restart=on-failure',
  'RestartSec=5',
  '[Install]',
  'WantedBy=multi-user.target',
);

/** What rsyslogd reads: the journal, from its start on, to one place. */
export function syslogConf({
  stg_syslogserver,
  stg_sysloglevel,
}: Pick<RecordOf<typeof systemSettings.fields>, 'stg_syslogserver' | 'stg_sysloglevel'>): string | undefined {
  const target = syslogTarget(stg_syslogserver);
  if (stg_syslogserver === '' || target === undefined) return undefined;
  return lines(
    '# Written by Holdfast.',
    'global(workDirectory="/var/lib/holdfast")',
    'module(load="imjournal" StateFile="syslog.state" IgnorePreviousMessages="on")',
    `*.${syslogLevels[stg_sysloglevel]} action(type="omfwd" target="${target.host}" port="${target.port}" protocol="udp")`,
  );
}

export const logsSubsystem: Subsystem = {
  name: 'logs',
  description: 'Sends the log to a log server, when there is one.',
  reads: [systemSettings],
  services: [service],
  render(view) {
    const content = syslogConf(view.only(systemSettings));
    return {
      files: [
        { path: configuration, content, verify: rsyslogd },
        { path: `/etc/systemd/system/${service}.service`, content: unitFile, forServiceManager: true },
      ],
      services: [{ name: service, running: content !== undefined, onChange: 'restart' }],
    };
  },
};

const rsyslogd: Checker = {
  argv: (staged) => ['rsyslogd', '-N1', '-f', staged],
  objection: ({ status, stdout, stderr }) =>
    status === 0
      ? undefined
      : `The log sender refuses its configuration: ${(stderr.trim() || stdout.trim()).split('\n').slice(-2).join(' ')}`,
};

/** `/etc/default/keyboard`, read by a shell at every start; setupcon gives it to the console. */
export function keyboardDefaults(layout: string): string {
  const [name = 'us', ...variant] = layout === '' ? [] : layout.split('.');
  return lines(
    '# Written by Holdfast.',
    'XKBMODEL="pc105"',
    `XKBLAYOUT="${name}"`,
    `XKBVARIANT="${variant.join('_')}"`,
    'XKBOPTIONS=""',
    'BACKSPACE="guess"',
  );
}

/** Debian's installer writes the layout that it was told; the settings of a fresh system are the American one. */
export function isAmerican(keyboard: string): boolean {
  const value = (name: string) => new RegExp(`^${name}="?(.*?)"?$`, 'm').exec(keyboard)?.[1] ?? '';
  return value('XKBLAYOUT') === 'us' && value('XKBVARIANT') === '' && value('XKBOPTIONS') === '';
}

export const keyboardSubsystem: Subsystem = {
  name: 'keyboard',
  description: 'Layout of the keyboard at the console.',
  reads: [systemSettings],
  local: [{ path: '/etc/default/keyboard', isDefault: isAmerican }],
  render: (view) => ({
    files: [{ path: '/etc/default/keyboard', content: keyboardDefaults(view.only(systemSettings).stg_kbdmap) }],
  }),
};
