import { isIPv4, isIPv6 } from 'node:net';
import {
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
  wrong,
} from '../../engine/declare/fields.ts';
import { ownAddressProblem, port } from '../../engine/declare/formats.ts';
import { action, type RecordOf, singleton, type View } from '../../engine/declare/resource.ts';
import { machineZone } from '../../engine/declare/schedule.ts';
import type { Endpoint } from '../../host/ports/web.ts';
import { quote } from '../../lib/text.ts';
import { certificate, type Pair, pairOf } from './certificate.ts';
import { keyboardProblem } from './keyboards.ts';
import { serveEndpoints, setZone } from './steps.ts';
import { tlsProblem } from './x509.ts';

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

/** The fields that determine which endpoints the web interface has. A certificate alone opens none. */
const endpointFields = [
  'stg_guiprotocol',
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
    description: 'Endpoints of the web interface and the API, and the language, time zone and log of the machine.',
    fields: {
      stg_guiprotocol: choice(['http', 'https', 'httphttps'], {
        description:
          'Protocol of the web interface and the API. With https, HTTP is closed, or redirects if stg_guihttpsredirect is true.',
        initial: 'http',
      }),
      stg_guicertificate: nullable(
        reference(certificate.path, {
          description: 'Id of the certificate for HTTPS.',
          onRemove: { becomes: null },
          holds: ({ stg_guiprotocol }) =>
            stg_guiprotocol === 'http'
              ? undefined
              : 'Holdfast uses this certificate for HTTPS. Before you delete it, set stg_guicertificate in system/settings to another certificate or stg_guiprotocol to http.',
        }),
      ),
      stg_guiaddress: onMachine(
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
      stg_guiv6address: onMachine(
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
      stg_guiport: port({ description: 'TCP port for HTTP.', initial: 80 }),
      stg_guihttpsport: port({ description: 'TCP port for HTTPS.', initial: 443 }),
      stg_guihttpsredirect: flag(true, {
        description: 'Whether HTTP redirects to HTTPS when stg_guiprotocol is https.',
      }),
      stg_language: refine(
        text({ description: 'Language code of a user interface.', max: 20, initial: 'en' }),
        languageProblem,
      ),
      stg_kbdmap: refine(
        text({
          description:
            'Keyboard layout of the console, as de or us, with an optional variant after a dot, as de.nodeadkeys.',
          max: 60,
        }),
        keyboardProblem,
      ),
      stg_timezone: refine(
        text({ description: 'Time zone of the machine.', max: 120, initial: 'America/Los_Angeles' }),
        zoneProblem,
      ),
      stg_sysloglevel: choice(levelNames, {
        description: 'Lowest level of the messages that are sent to the log server.',
        initial: 'f_info',
      }),
      stg_syslogserver: refine(
        text({
          description: 'Log server, as host or host:port; the default port is 514.',
          max: 120,
        }),
        (value) => {
          if (value === '' || syslogTarget(value) !== undefined) return undefined;
          return `Expected host or host:port, got ${quote(value)}.`;
        },
      ),
      stg_directoryservice: field<'' | 'activedirectory' | 'ldap' | 'nt4' | 'nis'>({
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
      // A new installation listens only where the options of the daemon say, until a request sets one of these
      // fields.
      doors_open: hidden(flag(false, { description: 'Whether the endpoints in these settings are active.' })),
    },
    // The machine keeps its time zone until a request sets one.
    seed: ({ host }) => (host === 'virtual' ? {} : { stg_timezone: machineZone() }),
    // Settings that are sent whole, as they were read, ask for no endpoint.
    complete: ({ record, before, sent }) => ({
      doors_open:
        record.doors_open ||
        (endpointFields.some((name) => sent[name] !== undefined) &&
          !endpointFields.every((name) => sent[name] === before?.[name])),
    }),
    check({ record, view, issues }) {
      if (record.stg_guiprotocol === 'httphttps' && record.stg_guiport === record.stg_guihttpsport)
        issues.add('stg_guihttpsport', 'stg_guihttpsport must differ from stg_guiport.');
      if (record.stg_guiprotocol === 'http') return;
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
          await operations.perform(serveEndpoints({ endpoints: entrancesOf(view, view.only(systemSettings)) }));
          return 'HTTP server restarted.';
        },
      }),
    ),
  ],
);

type Settings = RecordOf<typeof systemSettings.fields>;

function tlsPair(view: View, { stg_guicertificate: id }: Settings): Pair | string {
  if (id === null) return 'stg_guicertificate is required for HTTPS.';
  const pair = pairOf(view, id);
  if (typeof pair === 'string') return pair;
  return tlsProblem(pair.chain, pair.key) ?? pair;
}

/** The endpoints of these settings. */
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
  const host = match?.[1] ?? match?.[2] ?? (isIPv6(text) ? text : undefined);
  const number = match?.[3] === undefined ? 514 : Number(match[3]);
  return host === undefined || number > 65_535 ? undefined : { host, port: number };
}
