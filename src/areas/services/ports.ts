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

/** A place where a program waits for clients. */
export interface Place {
  readonly protocol: 'TCP' | 'UDP';
  readonly port: number;
  /** Undefined for every address. */
  readonly address?: string | undefined;
  /** The field that chose the port, if one did. */
  readonly field?: string;
}

const tcp = (port: number, field?: string): Place => ({
  protocol: 'TCP',
  port,
  ...(field === undefined ? {} : { field }),
});
const udp = (port: number, field?: string): Place => ({
  protocol: 'UDP',
  port,
  ...(field === undefined ? {} : { field }),
});

interface Listening {
  /** The settings that its places follow from. */
  readonly settings?: Singleton;
  places(view: View): readonly Place[];
}

const always = (...places: readonly Place[]): Listening => ({ places: () => places });

/** Where each service listens while it is on; those that nobody connects to are not here. */
const listening: Partial<Readonly<Record<SwitchName, Listening>>> = {
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
  ftp: { settings: ftpSettings, places: (view) => [tcp(view.only(ftpSettings).ftp_port, 'ftp_port')] },
  iscsitarget: always(tcp(3260)),
  nfs: {
    settings: nfsSettings,
    places(view) {
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
  rsync: { settings: rsyncdSettings, places: (view) => [tcp(view.only(rsyncdSettings).rsyncd_port, 'rsyncd_port')] },
  snmp: { settings: snmpSettings, places: () => [udp(161)] },
  ssh: {
    settings: sshSettings,
    // Where one listens that goes on with its own file, only that file knows.
    places: (view) =>
      view.only(sshSettings).ssh_untouched ? [] : [tcp(view.only(sshSettings).ssh_tcpport, 'ssh_tcpport')],
  },
  tftp: {
    settings: tftpSettings,
    places(view) {
      const { tftp_port, tftp_host } = view.only(tftpSettings);
      return [{ ...udp(tftp_port, 'tftp_port'), address: specific(tftp_host) }];
    },
  },
  ups: {
    settings: upsSettings,
    places(view) {
      const { ups_mode, ups_rmonitor, ups_remoteport } = view.only(upsSettings);
      return ups_mode === 'slave'
        ? []
        : [{ ...tcp(ups_remoteport, 'ups_remoteport'), address: ups_rmonitor ? undefined : '127.0.0.1' }];
    },
  },
  webdav: {
    settings: webdavSettings,
    places(view) {
      const { webdav_protocol, webdav_tcpport, webdav_tcpportssl } = view.only(webdavSettings);
      return [
        ...(webdav_protocol === 'https' ? [] : [tcp(webdav_tcpport, 'webdav_tcpport')]),
        ...(webdav_protocol === 'http' ? [] : [tcp(webdav_tcpportssl, 'webdav_tcpportssl')]),
      ];
    },
  },
};

/** No two programs may wait at one place. `own` is where Holdfast itself does. */
export function portRule(own: { readonly address: string; readonly port: number } | undefined): Rule {
  const ownPlace =
    own === undefined || own.port === 0 ? undefined : { ...tcp(own.port), address: specific(own.address) };
  return {
    description: 'No two programs listen on one port.',
    reads: [serviceSwitch, ...Object.values(listening).flatMap(({ settings }) => settings ?? [])],
    check(draft, changed) {
      const switched = changed
        .filter(({ resource }) => resource.path === serviceSwitch.path)
        .map(({ id }) => draft.get(serviceSwitch, id)?.srv_service);
      const taken = placesOfAll(draft);
      for (const { service, place, settings } of taken) {
        const isSet = settings !== undefined && changed.some(({ resource }) => resource.path === settings.path);
        if (!isSet && !switched.includes(service)) continue;
        const other = taken.find((one) => one.service !== service && meet(one.place, place));
        const who =
          other !== undefined
            ? `the service ${other.service}`
            : ownPlace !== undefined && meet(ownPlace, place)
              ? 'Holdfast itself'
              : undefined;
        if (who === undefined) continue;
        draft.issues.add(
          isSet ? (place.field ?? '__all__') : 'srv_enable',
          `The service ${service} would listen on ${place.protocol} port ${place.port}, which ${who} has.`,
        );
      }
    },
  };
}

function placesOfAll(draft: Draft) {
  return switchNames
    .filter((service) => isOn(draft, service))
    .flatMap((service) => {
      const one = listening[service];
      return (one?.places(draft) ?? []).map((place) => ({ service, place, settings: one?.settings }));
    });
}

/** Who listens on every address takes the port on each. */
function meet(a: Place, b: Place): boolean {
  return (
    a.protocol === b.protocol &&
    a.port === b.port &&
    (a.address === undefined || b.address === undefined || a.address === b.address)
  );
}

function specific(address: string): string | undefined {
  return address === '' || address === '0.0.0.0' || address === '::' ? undefined : address;
}
