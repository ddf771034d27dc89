import { driverOf, type upsSettings } from '../../areas/services/ups.ts';
import { upsEventNames } from '../../areas/system/notice.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { lines } from '../../lib/text.ts';

type Settings = RecordOf<typeof upsSettings.fields>;

export const folder = '/etc/nut';
export const eventProgram = '/usr/lib/holdfast/ups-event';

const header = '# Written by Holdfast.';

/** Whether a UPS is connected to this machine. */
export function isServer(settings: Settings): boolean {
  return settings.ups_mode === 'master' && settings.ups_driver !== '';
}

/** Debian's NUT services start only if MODE is set here. */
export function nutConf(settings: Settings): string {
  return lines(header, `MODE=${isServer(settings) ? 'netserver' : 'netclient'}`);
}

export function upsConf(settings: Settings): string {
  if (!isServer(settings)) return lines(header);
  const { driver, lines: ofModel } = driverOf(settings.ups_driver);
  return lines(
    header,
    `[${settings.ups_identifier}]`,
    `driver = ${driver}`,
    ofModel,
    `port = ${quoted(settings.ups_port)}`,
    settings.ups_description === '' ? undefined : `desc = ${quoted(settings.ups_description)}`,
    settings.ups_options === '' ? undefined : settings.ups_options,
  );
}

export function upsdConf(settings: Settings): string {
  const { ups_rmonitor, ups_remoteport, ups_optionsupsd } = settings;
  return lines(
    header,
    `LISTEN ${ups_rmonitor ? '0.0.0.0' : '127.0.0.1'} ${ups_remoteport}`,
    ups_optionsupsd === '' ? undefined : ups_optionsupsd,
  );
}

export function upsdUsers(settings: Settings): string {
  return lines(
    header,
    `[${settings.ups_monuser}]`,
    `password = ${quoted(settings.ups_monpwd)}`,
    'upsmon primary',
    settings.ups_extrausers === '' ? undefined : settings.ups_extrausers,
  );
}

export function upsmonConf(settings: Settings): string {
  const isSlave = settings.ups_mode === 'slave';
  const host = isSlave ? settings.ups_remotehost : 'localhost';
  const system = `${settings.ups_identifier}@${host.includes(':') ? `[${host}]` : host}:${settings.ups_remoteport}`;
  const account = `${quoted(settings.ups_monuser)} ${quoted(settings.ups_monpwd)}`;
  const watches = isSlave || isServer(settings);
  return lines(
    header,
    watches ? `MONITOR ${system} 1 ${account} ${isSlave ? 'secondary' : 'primary'}` : undefined,
    // Without a UPS, upsmon exits unless MINSUPPLIES is 0. It keeps running, so that the state of the service shows.
    `MINSUPPLIES ${watches ? 1 : 0}`,
    `SHUTDOWNCMD ${quoted(shutdownCommand(settings.ups_shutdowncmd))}`,
    settings.ups_powerdown ? 'POWERDOWNFLAG "/etc/killpower"' : undefined,
    settings.ups_nocommwarntime === null ? undefined : `NOCOMMWARNTIME ${settings.ups_nocommwarntime}`,
    'NOTIFYCMD /usr/sbin/upssched',
    upsEventNames.map((event) => `NOTIFYFLAG ${event} SYSLOG+EXEC`),
  );
}

/** The command for each event, and timers that another event cancels. */
export function upsschedConf(settings: Settings): string {
  return lines(
    header,
    `CMDSCRIPT ${eventProgram}`,
    'PIPEFN /run/nut/upssched/upssched.pipe',
    'LOCKFN /run/nut/upssched/upssched.lock',
    settings.ups_shutdown === 'batt'
      ? [`AT ONBATT * START-TIMER shutdown ${settings.ups_shutdowntimer}`, 'AT ONLINE * CANCEL-TIMER shutdown']
      : undefined,
    upsEventNames.map((event) => `AT ${event} * EXECUTE ${event}`),
  );
}

/** The option `-p` of the BSD command is `-P` on Linux. */
function shutdownCommand(command: string): string {
  return command.replace(/^((?:\/\w+)*\/)?shutdown -p(?=\s|$)/, '$1shutdown -P');
}

/**
 * Disables nut-driver-enumerator, with which Debian generates driver units from ups.conf whenever that changes.
 * Holdfast has its own driver unit.
 */
export const enumeratorUnit: string = lines(header, '[Unit]', `ConditionPathExists=!${folder}/ups.conf`);

const giveToNut = [
  `ExecStartPre=/usr/bin/chgrp nut ${['ups.conf', 'upsd.conf', 'upsd.users'].map((file) => `${folder}/${file}`).join(' ')}`,
];

export const driverUnit: string = lines(
  header,
  '[Unit]',
  'Description=Driver of the UPS',
  'After=local-fs.target',
  'Before=nut-server.service',
  '',
  '[Service]',
  'Type=forking',
  'ExecStartPre=-/usr/bin/systemd-tmpfiles --create /usr/lib/tmpfiles.d/nut-common-tmpfiles.conf',
  giveToNut,
  'ExecStart=/usr/sbin/upsdrvctl start',
  'ExecStop=/usr/sbin/upsdrvctl stop',
  'Restart=on-failure',
  'RestartSec=15',
  '',
  '[Install]',
  'WantedBy=multi-user.target',
);

/** upsd drops root before it reads its files, so its group has to be able to read them. */
export const serverUnit: string = lines(header, '[Service]', giveToNut);

/** Lets only upsmon's account report events to the daemon. */
export const monitorUnit: string = lines(
  header,
  '[Service]',
  'ExecStartPre=+/usr/bin/install -d -m 0710 -o root -g nut /run/holdfast-notices',
  'ExecStartPre=+-/usr/bin/chgrp nut /run/holdfast-notices/notices.socket',
);

/** A quoted string with its special characters escaped. */
function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}
