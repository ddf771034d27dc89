import { keyboardOf } from '../../areas/system/keyboards.ts';
import { syslogLevels, syslogTarget, systemSettings } from '../../areas/system/settings.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import type { Checker, Subsystem } from '../../engine/declare/subsystem.ts';
import { lines } from '../../lib/text.ts';

const service = 'holdfast-syslog';
const configuration = '/etc/holdfast/syslog.conf';

/** A separate rsyslogd instance, so that the machine's own logging stays unchanged. */
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

/** Configuration of rsyslogd: forwards new journal entries to one server. */
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
  description: 'Sends the log to the configured syslog server.',
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
      : `rsyslogd rejects its configuration: ${(stderr.trim() || stdout.trim()).split('\n').slice(-2).join(' ')}`,
};

/** `/etc/default/keyboard`, read by a shell at every boot; setupcon applies it to the console. */
export function keyboardDefaults(name: string): string {
  const { layout, variant } = keyboardOf(name) ?? { layout: 'us', variant: '' };
  return lines(
    '# Written by Holdfast.',
    'XKBMODEL="pc105"',
    `XKBLAYOUT="${layout}"`,
    `XKBVARIANT="${variant}"`,
    'XKBOPTIONS=""',
    'BACKSPACE="guess"',
  );
}

/**
 * Whether the layout is the US one, which is also the default of the settings. Debian's installer writes the chosen
 * one.
 */
export function isAmerican(keyboard: string): boolean {
  const value = (name: string) => new RegExp(`^${name}="?(.*?)"?$`, 'm').exec(keyboard)?.[1] ?? '';
  return value('XKBLAYOUT') === 'us' && value('XKBVARIANT') === '' && value('XKBOPTIONS') === '';
}

export const keyboardSubsystem: Subsystem = {
  name: 'keyboard',
  description: 'Keyboard layout of the console.',
  reads: [systemSettings],
  local: [{ path: '/etc/default/keyboard', isDefault: isAmerican }],
  render: (view) => ({
    files: [{ path: '/etc/default/keyboard', content: keyboardDefaults(view.only(systemSettings).stg_kbdmap) }],
  }),
};
