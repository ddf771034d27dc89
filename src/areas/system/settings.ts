import { isIPv4, isIPv6 } from 'node:net';
import {
  choice,
  field,
  flag,
  good,
  hidden,
  nullable,
  reference,
  refine,
  text,
  wrong,
} from '../../engine/declare/fields.ts';
import { port } from '../../engine/declare/formats.ts';
import { action, type RecordOf, singleton, type View } from '../../engine/declare/resource.ts';
import { machineZone } from '../../engine/declare/schedule.ts';
import type { Endpoint } from '../../host/ports/web.ts';
import { quote } from '../../lib/text.ts';
import { certificate, type Pair, pairOf } from './certificate.ts';
import { tlsProblem } from './x509.ts';

/** `f_info` and so on, by the names that every syslog knows. */
export const syslogLevels = {
  f_emerg: 'emerg',
  f_alert: 'alert',
  f_crit: 'crit',
  f_err: 'err',
  f_warning: 'warning',
  f_notice: 'notice',
  f_info: 'info',
  f_debug: 'debug',
  f_is_debug: 'debug',
} as const;

const levelNames = [
  'f_emerg',
  'f_alert',
  'f_crit',
  'f_err',
  'f_warning',
  'f_notice',
  'f_info',
  'f_debug',
  'f_is_debug',
] as const;

/** Fields that say where the interface is served. */
const doors = [
  'stg_guiprotocol',
  'stg_guicertificate',
  'stg_guiaddress',
  'stg_guiv6address',
  'stg_guiport',
  'stg_guihttpsport',
  'stg_guihttpsredirect',
] as const;

export const systemSettings = singleton(
  'system/settings',
  {
    title: 'system settings',
    description: 'Where the interface is served, and the language, clock and log of the machine.',
    fields: {
      stg_guiprotocol: choice(['http', 'https', 'httphttps'], {
        description:
          'What the interface is served by. With https, HTTP only sends on, if stg_guihttpsredirect says so.',
        initial: 'http',
      }),
      stg_guicertificate: nullable(
        reference(certificate.path, {
          description: 'Certificate for HTTPS.',
          onRemove: { becomes: null },
          holds: ({ stg_guiprotocol }) =>
            stg_guiprotocol === 'http'
              ? undefined
              : 'The interface is served by HTTPS with this certificate: name another in system/settings, or go back to HTTP, before this one goes.',
        }),
      ),
      stg_guiaddress: refine(
        text({
          description: 'IPv4 address that the interface is served on; 0.0.0.0 is all.',
          max: 15,
          initial: '0.0.0.0',
        }),
        (value) => (isIPv4(value) ? undefined : `${quote(value)} is no IPv4 address.`),
      ),
      stg_guiv6address: refine(
        text({ description: 'IPv6 address that the interface is served on; :: is all.', max: 45, initial: '::' }),
        (value) => (isIPv6(value) && !value.includes('%') ? undefined : `${quote(value)} is no IPv6 address.`),
      ),
      stg_guiport: port({ description: 'Port of HTTP.', initial: 80 }),
      stg_guihttpsport: port({ description: 'Port of HTTPS.', initial: 443 }),
      stg_guihttpsredirect: flag(true, {
        description: 'Whether HTTP sends on to HTTPS when stg_guiprotocol is https.',
      }),
      stg_language: text({
        description: 'Language of a user interface, by its code.',
        max: 20,
        initial: 'en',
        pattern: /^[a-z]{2,3}([_-][A-Za-z]{2,8})?$/,
        rule: 'A language code is wanted, as en or pt-br.',
      }),
      stg_kbdmap: text({
        description:
          'Layout of the keyboard at the console, as de or us, with a variant behind a dot, as de.nodeadkeys.',
        max: 60,
        pattern: /^[a-z]{2,}(\.[a-z0-9_-]+)*$/,
        rule: 'A layout is wanted, as de or de.nodeadkeys.',
      }),
      stg_timezone: refine(
        text({ description: 'Time zone of the machine.', max: 120, initial: 'America/Los_Angeles' }),
        zoneProblem,
      ),
      stg_sysloglevel: choice(levelNames, {
        description: 'What the log server is sent: this level and all above it.',
        initial: 'f_info',
      }),
      stg_syslogserver: refine(
        text({
          description: 'Server that the log is sent to, as host or host:port; the port is 514 unless told.',
          max: 120,
        }),
        (value) => {
          if (value === '' || syslogTarget(value) !== undefined) return undefined;
          return `${quote(value)} is no host or host:port.`;
        },
      ),
      stg_directoryservice: field<'' | 'activedirectory' | 'ldap' | 'nt4' | 'nis'>({
        description:
          'Which directory service a user interface shows. The services themselves are switched by their own settings.',
        initial: '',
        blank: '',
        schema: { enum: ['', 'activedirectory', 'ldap', 'nt4', 'nis'] },
        read(sent) {
          const known = (['', 'activedirectory', 'ldap', 'nt4', 'nis'] as const).find((one) => one === sent);
          return known === undefined
            ? wrong(`${quote(sent)} is none of activedirectory, ldap, nt4 and nis.`)
            : good(known);
        },
      }),
      // A fresh machine is reached where its daemon was told to listen, and nowhere else until somebody has said so here.
      doors_open: hidden(flag(false, { description: 'Whether the interface is served where these settings say.' })),
    },
    // The machine keeps its own time zone until it is given another.
    seed: ({ host }) => (host === 'virtual' ? {} : { stg_timezone: machineZone() }),
    complete: ({ record, sent }) => ({
      doors_open: record.doors_open || doors.some((name) => sent[name] !== undefined),
    }),
    check({ record, view, issues }) {
      if (record.stg_guiprotocol === 'httphttps' && record.stg_guiport === record.stg_guihttpsport)
        issues.add('stg_guihttpsport', 'HTTP and HTTPS need a port each.');
      if (record.stg_guiprotocol === 'http') return;
      const pair = tlsPair(view, record);
      if (typeof pair === 'string') issues.add('stg_guicertificate', pair);
    },
    onSave({ draft, record, before }) {
      if (before === undefined) return;
      const [zone, earlier] = [record.stg_timezone, before.stg_timezone];
      if (zone === earlier) return;
      draft.plan.first({
        title: `put the clock into the time zone ${zone}`,
        perform: ({ machine }) => machine.setZone(zone),
        undo: ({ machine }) => machine.setZone(earlier),
        left: async ({ machine }) => (await machine.zone()) === zone,
      });
    },
  },
  [
    // The doors follow the settings by themselves; who asks for a restart gets the answer that is true afterwards.
    ...(['restart-httpd', 'restart-httpd-all'] as const).map((segment) =>
      action({
        on: 'resource',
        segment,
        title: 'Opens the doors of the interface anew.',
        async perform({ operations }) {
          const { view } = operations.world;
          await operations.perform({
            title: 'serve the interface where the settings say',
            perform: ({ web }) => web.serve(entrancesOf(view, view.only(systemSettings))),
          });
          return 'HTTP server restarted.';
        },
      }),
    ),
  ],
);

type Settings = RecordOf<typeof systemSettings.fields>;

function tlsPair(view: View, { stg_guicertificate: id }: Settings): Pair | string {
  if (id === null) return 'HTTPS needs a certificate.';
  const pair = pairOf(view, id);
  if (typeof pair === 'string') return pair;
  return tlsProblem(pair.chain, pair.key) ?? pair;
}

/** The doors that these settings ask for. */
export function entrancesOf(view: View, settings: Settings): readonly Endpoint[] {
  const { doors_open, stg_guiprotocol: protocol, stg_guiport, stg_guihttpsport, stg_guihttpsredirect } = settings;
  if (!doors_open) return [];
  const addresses = [settings.stg_guiaddress, settings.stg_guiv6address];
  const tls = protocol === 'http' ? undefined : tlsPair(view, settings);
  const plain = protocol !== 'https' ? {} : stg_guihttpsredirect ? { redirectTo: stg_guihttpsport } : undefined;
  const sends = plain !== undefined && !(protocol === 'https' && stg_guiport === stg_guihttpsport);
  return addresses.flatMap((address) => [
    ...(sends ? [{ address, port: stg_guiport, ...plain }] : []),
    ...(typeof tls === 'object' ? [{ address, port: stg_guihttpsport, tls: { chain: tls.chain, key: tls.key } }] : []),
  ]);
}

function zoneProblem(zone: string): string | undefined {
  const sentence = `${quote(zone)} is no time zone, as Europe/Berlin.`;
  if (!/^[A-Z][A-Za-z0-9_+/-]*$/.test(zone) || zone.startsWith('Etc/GMT')) return sentence;
  try {
    Intl.DateTimeFormat('en', { timeZone: zone });
    return undefined;
  } catch {
    return sentence;
  }
}

/** Host and port of a log server; undefined for what is neither. */
export function syslogTarget(text: string): { readonly host: string; readonly port: number } | undefined {
  const match = /^(?:\[([0-9A-Fa-f:]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(text);
  const host = match?.[1] ?? match?.[2] ?? (isIPv6(text) ? text : undefined);
  const number = match?.[3] === undefined ? 514 : Number(match[3]);
  return host === undefined || number > 65_535 ? undefined : { host, port: number };
}
