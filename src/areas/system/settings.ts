import { isIPv4, isIPv6 } from 'node:net';
import {
  advanced,
  basic,
  choice,
  field,
  flag,
  good,
  hidden,
  nullable,
  onMachine,
  reference,
  refine,
  text,
  titled,
  wrong,
} from '../../engine/declare/fields.ts';
import { ownAddressProblem, port } from '../../engine/declare/formats.ts';
import { action, type RecordOf, singleton, type View } from '../../engine/declare/resource.ts';
import { machineZone } from '../../engine/declare/schedule.ts';
import type { Endpoint } from '../../host/ports/web.ts';
import { quote } from '../../lib/text.ts';
import { certificate, type Pair, pairOf } from '../certificates/certificate.ts';
import { tlsProblem } from '../certificates/x509.ts';
import { keyboardProblem } from './keyboards.ts';
import { ownPair } from './own-certificate.ts';
import { serveEndpoints, setZone } from './steps.ts';

/** The syslog names of the levels `f_info` and so on. */
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

const httpsPort = 443;

/** The fields that determine which endpoints the web interface has. A certificate alone opens none. */
const endpointFields = [
  'stg_guiprotocol',
  'stg_guiaddress',
  'stg_guiv6address',
  'stg_guiport',
  'stg_guihttpsport',
  'stg_guihttpsredirect',
] as const;

const plainFields = ['stg_guiprotocol', 'stg_guiport'] as const;

export const systemSettings = singleton(
  'system/settings',
  {
    shortName: 'system',
    title: 'system settings',
    description: 'Endpoints of the web interface and the API, and the language, time zone and log of the machine.',
    fields: {
      ...basic('Web interface', {
        stg_guiprotocol: titled(
          'Protocol',
          choice(['http', 'https', 'httphttps'], {
            description:
              'Protocol of the web interface and the API. With https, HTTP is closed, or redirects if stg_guihttpsredirect is true. A real machine serves HTTPS from its first start, also with http, until a request sets this field.',
            initial: 'http',
          }),
        ),
        stg_guicertificate: titled(
          'Certificate',
          nullable(
            reference(certificate.path, {
              description:
                'Id of the certificate for HTTPS. Without one, the certificate is used that Holdfast has by itself on a real machine.',
              onRemove: { becomes: null },
              holds: ({ stg_guiprotocol }) =>
                stg_guiprotocol === 'http'
                  ? undefined
                  : 'Holdfast uses this certificate for HTTPS. Before you delete it, set stg_guicertificate in system/settings to another certificate or stg_guiprotocol to http.',
            }),
          ),
        ),
        stg_guiaddress: titled(
          'IPv4 address',
          onMachine(
            refine(
              text({
                description: 'IPv4 address that Holdfast listens on; 0.0.0.0 is every IPv4 address.',
                max: 15,
                initial: '0.0.0.0',
              }),
              (value) => (isIPv4(value) ? undefined : `Expected an IPv4 address, got ${quote(value)}.`),
            ),
            (address, facts) => ownAddressProblem(address, facts),
          ),
        ),
        stg_guiv6address: titled(
          'IPv6 address',
          onMachine(
            refine(
              text({
                description: 'IPv6 address that Holdfast listens on; :: is every IPv6 address.',
                max: 45,
                initial: '::',
              }),
              (value) =>
                isIPv6(value) && !value.includes('%') ? undefined : `Expected an IPv6 address, got ${quote(value)}.`,
            ),
            (address, facts) => ownAddressProblem(address, facts),
          ),
        ),
        stg_guiport: titled('HTTP port', port({ description: 'TCP port for HTTP.', initial: 80 })),
        stg_guihttpsport: titled('HTTPS port', port({ description: 'TCP port for HTTPS.', initial: httpsPort })),
        stg_guihttpsredirect: titled(
          'Redirect to HTTPS',
          flag(true, {
            description: 'Whether HTTP redirects to HTTPS when stg_guiprotocol is https.',
          }),
        ),
      }),
      ...basic('Place', {
        stg_language: refine(
          text({ description: 'Language code of a user interface.', max: 20, initial: 'en' }),
          languageProblem,
        ),
        stg_kbdmap: titled(
          'Keyboard',
          refine(
            text({
              description:
                'Keyboard layout of the console, as de or us, with an optional variant after a dot, as de.nodeadkeys.',
              max: 60,
            }),
            keyboardProblem,
          ),
        ),
        stg_timezone: titled(
          'Time zone',
          refine(
            text({ description: 'Time zone of the machine.', max: 120, initial: 'America/Los_Angeles' }),
            zoneProblem,
          ),
        ),
      }),
      ...advanced('Log', {
        stg_sysloglevel: titled(
          'Level',
          choice(levelNames, {
            description: 'Lowest level of the messages that are sent to the log server.',
            initial: 'f_info',
          }),
        ),
        stg_syslogserver: titled(
          'Server',
          refine(
            text({
              description: 'Log server, as host or host:port; the default port is 514.',
              max: 120,
            }),
            (value) => {
              if (value === '' || syslogTarget(value) !== undefined) return undefined;
              return `Expected host or host:port, got ${quote(value)}.`;
            },
          ),
        ),
      }),
      ...basic('Directory', {
        stg_directoryservice: titled(
          'Directory service',
          field<'' | 'activedirectory' | 'ldap' | 'nt4' | 'nis'>({
            description:
              'Directory service that a user interface shows. Each directory service is switched on in its own settings.',
            initial: '',
            blank: '',
            schema: { enum: ['', 'activedirectory', 'ldap', 'nt4', 'nis'] },
            read(sent) {
              const known = (['', 'activedirectory', 'ldap', 'nt4', 'nis'] as const).find((name) => name === sent);
              return known === undefined
                ? wrong(`Expected activedirectory, ldap, nt4, nis or an empty text, got ${quote(sent)}.`)
                : good(known);
            },
          }),
        ),
      }),
      // A new installation listens only where the options of the daemon say, until a request sets one of these
      // fields.
      doors_open: hidden(flag(false, { description: 'Whether the endpoints in these settings are active.' })),
      https_open: hidden(flag(false, { description: 'Whether HTTPS is served although the protocol is http.' })),
    },
    // The machine keeps its time zone until a request sets one.
    seed: ({ host }) => (host === 'virtual' ? {} : { stg_timezone: machineZone() }),
    // A machine serves HTTPS from its first start, unless another program has the port.
    adopt: async ({ kind, web }) => ({ https_open: kind === 'linux' && (await web.isFree(httpsPort)) }),
    complete({ record, before, sent }) {
      // Settings that are sent whole, as they were read, ask for no endpoint.
      const isWhole = endpointFields.every((name) => sent[name] !== undefined);
      const asksFor = (name: (typeof endpointFields)[number]) =>
        sent[name] !== undefined && !(isWhole && sent[name] === before?.[name]);
      return {
        // While HTTPS is served without a setting, its port and addresses can be set without opening HTTP.
        doors_open: record.doors_open || (record.https_open ? plainFields : endpointFields).some(asksFor),
        https_open: record.https_open && !asksFor('stg_guiprotocol'),
      };
    },
    check({ record, view, issues }) {
      const { stg_guiprotocol: protocol, stg_guicertificate: id } = record;
      const servesBoth = protocol === 'httphttps' || (protocol === 'http' && record.https_open && record.doors_open);
      if (servesBoth && record.stg_guiport === record.stg_guihttpsport)
        issues.add('stg_guihttpsport', 'stg_guihttpsport must differ from stg_guiport.');
      if (protocol === 'http' && !(record.https_open && id !== null)) return;
      const pair = tlsPair(view, record);
      if (typeof pair === 'string') issues.add('stg_guicertificate', pair);
    },
    onSave({ draft, record, before }) {
      if (before === undefined) return;
      const [zone, earlier] = [record.stg_timezone, before.stg_timezone];
      if (zone === earlier) return;
      draft.plan.first(setZone({ zone, former: earlier }));
    },
  },
  [
    // The endpoints follow the settings without a restart. The action opens them again and answers when they are open.
    ...(['restart-httpd', 'restart-httpd-all'] as const).map((segment) =>
      action({
        on: 'resource',
        segment,
        title: 'Opens the HTTP endpoints again.',
        async perform({ operations }) {
          const { view } = operations.world;
          await operations.perform(serveEndpoints({ endpoints: endpointsOf(view) }));
          return 'HTTP server restarted.';
        },
      }),
    ),
  ],
);

type Settings = RecordOf<typeof systemSettings.fields>;

function tlsPair(view: View, { stg_guicertificate: id }: Settings): Pair | string {
  if (id === null) return ownPair(view) ?? 'stg_guicertificate is required for HTTPS.';
  const pair = pairOf(view, id);
  if (typeof pair === 'string') return pair;
  return tlsProblem(pair.chain, pair.key) ?? pair;
}

/** The endpoints at which the settings have the interface served. */
export function endpointsOf(view: View): readonly Endpoint[] {
  const settings = view.only(systemSettings);
  const { doors_open, https_open, stg_guiprotocol: protocol, stg_guiport, stg_guihttpsport } = settings;
  if (!doors_open && !https_open) return [];
  const addresses = [settings.stg_guiaddress, settings.stg_guiv6address];
  const tls = protocol === 'http' && !https_open ? undefined : tlsPair(view, settings);
  const redirect = settings.stg_guihttpsredirect ? { redirectTo: stg_guihttpsport } : undefined;
  const plain = !doors_open ? undefined : protocol !== 'https' ? {} : redirect;
  const sends = plain !== undefined && !(protocol === 'https' && stg_guiport === stg_guihttpsport);
  return addresses.flatMap((address) => [
    ...(sends ? [{ address, port: stg_guiport, ...plain }] : []),
    ...(typeof tls === 'object' ? [{ address, port: stg_guihttpsport, tls: { chain: tls.chain, key: tls.key } }] : []),
  ]);
}

function languageProblem(code: string): string | undefined {
  const languages = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' });
  const isCode = /^[a-z]{2,3}([_-][A-Za-z]{2,8})?$/.test(code);
  if (code === '' || (isCode && languages.of(code.replace('_', '-')) !== undefined)) return undefined;
  return `Expected the code of a language, as en or pt-br, got ${quote(code)}.`;
}

function zoneProblem(zone: string): string | undefined {
  const problem = `Expected a time zone, as Europe/Berlin, got ${quote(zone)}.`;
  if (!/^[A-Z][A-Za-z0-9_+/-]*$/.test(zone) || zone.startsWith('Etc/GMT')) return problem;
  try {
    Intl.DateTimeFormat('en', { timeZone: zone });
    return undefined;
  } catch {
    return problem;
  }
}

/** Host and port of a log server, or undefined when the text is invalid. */
export function syslogTarget(text: string): { readonly host: string; readonly port: number } | undefined {
  const match = /^(?:\[([0-9A-Fa-f:]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(text);
  const host = match?.[1] ?? match?.[2] ?? (text.includes(':') && isIPv6(text) ? text : undefined);
  const number = match?.[3] === undefined ? 514 : Number(match[3]);
  return host === undefined || number > 65_535 ? undefined : { host, port: number };
}
