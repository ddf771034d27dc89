import type { Draft, Singleton, View } from '../../engine/declare/resource.ts';
import type { Rule } from '../../engine/declare/rule.ts';
import { type SwitchName, switchNames } from './daemons.ts';
import { ftpSettings } from './ftp.ts';
import { nfsSettings } from './nfs.ts';
import { rsyncdSettings } from './rsyncd.ts';
import { isOn, serviceSwitch } from './services.ts';
import { snmpSettings } from './snmp.ts';
import { sshSettings } from './ssh.ts';
import { tftpSettings } from './tftp.ts';
import { upsSettings } from './ups.ts';
import { webdavSettings } from './webdav.ts';

/** A port that a program listens on. */
export interface Listener {
  readonly protocol: 'TCP' | 'UDP';
  readonly port: number;
  /** Undefined for all addresses. */
  readonly address?: string | undefined;
  /** The field that sets the port, if the port is configurable. */
  readonly field?: string;
}

const tcp = (port: number, field?: string): Listener => ({
  protocol: 'TCP',
  port,
  ...(field === undefined ? {} : { field }),
});
const udp = (port: number, field?: string): Listener => ({
  protocol: 'UDP',
  port,
  ...(field === undefined ? {} : { field }),
});

interface Service {
  /** The settings that determine the listeners. */
  readonly settings?: Singleton;
  listeners(view: View): readonly Listener[];
}

const always = (...listeners: readonly Listener[]): Service => ({ listeners: () => listeners });

/** The listeners of each service while it is on. Services that accept no connections are not listed. */
const services: Partial<Readonly<Record<SwitchName, Service>>> = {
  afp: always(tcp(548)),
  cifs: always(tcp(139), tcp(445), udp(137), udp(138)),
  domaincontroller: always(
    tcp(53),
    udp(53),
    tcp(88),
    udp(88),
    tcp(135),
    udp(137),
    udp(138),
    tcp(139),
    tcp(389),
    udp(389),
    tcp(445),
    tcp(464),
    udp(464),
    tcp(636),
    tcp(3268),
  ),
  ftp: { settings: ftpSettings, listeners: (view) => [tcp(view.only(ftpSettings).ftp_port, 'ftp_port')] },
  iscsitarget: always(tcp(3260)),
  nfs: {
    settings: nfsSettings,
    listeners(view) {
      const settings = view.only(nfsSettings);
      const helpers = (['nfs_srv_mountd_port', 'nfs_srv_rpcstatd_port', 'nfs_srv_rpclockd_port'] as const).flatMap(
        (field) => {
          const port = settings[field];
          return port === null ? [] : [tcp(port, field), udp(port, field)];
        },
      );
      return [tcp(111), udp(111), tcp(2049), ...helpers];
    },
  },
  rsync: { settings: rsyncdSettings, listeners: (view) => [tcp(view.only(rsyncdSettings).rsyncd_port, 'rsyncd_port')] },
  snmp: { settings: snmpSettings, listeners: () => [udp(161)] },
  ssh: {
    settings: sshSettings,
    // The port of an SSH server that keeps its own configuration file is unknown here.
    listeners: (view) =>
      view.only(sshSettings).ssh_untouched ? [] : [tcp(view.only(sshSettings).ssh_tcpport, 'ssh_tcpport')],
  },
  tftp: {
    settings: tftpSettings,
    listeners(view) {
      const { tftp_port, tftp_host } = view.only(tftpSettings);
      return [{ ...udp(tftp_port, 'tftp_port'), address: specific(tftp_host) }];
    },
  },
  ups: {
    settings: upsSettings,
    listeners(view) {
      const { ups_mode, ups_rmonitor, ups_remoteport } = view.only(upsSettings);
      return ups_mode === 'slave'
        ? []
        : [{ ...tcp(ups_remoteport, 'ups_remoteport'), address: ups_rmonitor ? undefined : '127.0.0.1' }];
    },
  },
  webdav: {
    settings: webdavSettings,
    listeners(view) {
      const { webdav_protocol, webdav_tcpport, webdav_tcpportssl } = view.only(webdavSettings);
      return [
        ...(webdav_protocol === 'https' ? [] : [tcp(webdav_tcpport, 'webdav_tcpport')]),
        ...(webdav_protocol === 'http' ? [] : [tcp(webdav_tcpportssl, 'webdav_tcpportssl')]),
      ];
    },
  },
};

/** No two programs may listen on the same port. `own` is the port of Holdfast itself. */
export function portRule(own: { readonly address: string; readonly port: number } | undefined): Rule {
  const ownListener =
    own === undefined || own.port === 0 ? undefined : { ...tcp(own.port), address: specific(own.address) };
  return {
    description: 'No two programs listen on one port.',
    reads: [serviceSwitch, ...Object.values(services).flatMap(({ settings }) => settings ?? [])],
    check(draft, changed) {
      const switched = changed
        .filter(({ resource }) => resource.path === serviceSwitch.path)
        .map(({ id }) => draft.get(serviceSwitch, id)?.srv_service);
      const taken = listenersOfAll(draft);
      for (const { service, listener, settings } of taken) {
        const isSet = settings !== undefined && changed.some(({ resource }) => resource.path === settings.path);
        if (!isSet && !switched.includes(service)) continue;
        const other = taken.find(
          (candidate) => candidate.service !== service && conflict(candidate.listener, listener),
        );
        const holder =
          other !== undefined
            ? `the service ${other.service}`
            : ownListener !== undefined && conflict(ownListener, listener)
              ? 'Holdfast itself'
              : undefined;
        if (holder === undefined) continue;
        draft.issues.add(
          isSet ? (listener.field ?? '__all__') : 'srv_enable',
          [
            `${listener.protocol} port ${listener.port} of the service ${service} is already used by ${holder}.`,
            ...remedy(isSet ? undefined : { listener, settings }, other),
          ].join(' '),
        );
      }
    },
  };
}

/** The fields that can resolve the conflict, other than the one that the message is about. */
function remedy(...sides: readonly (Pick<Listening, 'listener' | 'settings'> | undefined)[]): readonly string[] {
  const fields = sides.flatMap((side) =>
    side?.listener.field === undefined ? [] : `${side.listener.field} of ${side.settings?.path}`,
  );
  return fields.length === 0 ? [] : [`Set ${fields.join(' or ')} to another port.`];
}

interface Listening {
  readonly service: SwitchName;
  readonly listener: Listener;
  readonly settings: Singleton | undefined;
}

function listenersOfAll(draft: Draft): readonly Listening[] {
  return switchNames
    .filter((service) => isOn(draft, service))
    .flatMap((service) => {
      const known = services[service];
      return (known?.listeners(draft) ?? []).map((listener) => ({ service, listener, settings: known?.settings }));
    });
}

/** A program that listens on all addresses occupies the port on each of them. */
function conflict(a: Listener, b: Listener): boolean {
  return (
    a.protocol === b.protocol &&
    a.port === b.port &&
    (a.address === undefined || b.address === undefined || a.address === b.address)
  );
}

function specific(address: string): string | undefined {
  return address === '' || address === '0.0.0.0' || address === '::' ? undefined : address;
}
