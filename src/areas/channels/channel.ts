import {
  choice,
  field,
  flag,
  good,
  integer,
  list,
  required,
  secret,
  text,
  wrong,
} from '../../engine/declare/fields.ts';
import { severities } from '../../engine/declare/problem.ts';
import { collection, type RecordOf } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';
import { type TemplateName, templateOf, templates } from './templates.ts';

export const channelKinds = [
  'webhook',
  'slack',
  'mattermost',
  'discord',
  'teams',
  'pagerduty',
  'opsgenie',
  'ntfy',
  'syslog',
  'snmp',
] as const;
export type ChannelKind = (typeof channelKinds)[number];

export const isTemplate = (kind: ChannelKind): kind is TemplateName & ChannelKind => Object.hasOwn(templates, kind);

/** Schemes of addresses by kind. */
const schemes = { syslog: ['udp:', 'tcp:', 'tls:'], snmp: ['udp:'] } as const;

/** An hour and a minute, or empty. */
const time = (description: string) =>
  field<string>({
    ...text({ description, max: 5 }),
    schema: { type: 'string', pattern: '^(([01][0-9]|2[0-3]):[0-5][0-9])?$' },
    read(sent) {
      const isTime = typeof sent === 'string' && /^(([01]\d|2[0-3]):[0-5]\d)?$/.test(sent);
      return isTime ? good(sent) : wrong(`Expected a time of day such as 22:00, or nothing, got ${quote(sent)}.`);
    },
  });

/** What a client sets of a channel. */
export const channelFields = {
  name: required(
    text({
      description: 'Name of the channel.',
      max: 64,
      pattern: /^[A-Za-z0-9][\w.@-]*$/,
      rule: 'Expected a letter or digit, then letters, digits, dots, hyphens, underscores and @.',
    }),
  ),
  kind: required(choice(channelKinds, { description: 'What receives the alerts.' })),
  address: secret(
    text({
      description:
        'Where it is: with https or http; for syslog udp://, tcp:// or tls://HOST:PORT; for snmp udp://HOST:PORT. It is not shown again, because the address of a chat is its password. PagerDuty and Opsgenie have one of their own.',
      max: 2048,
    }),
  ),
  token: secret(
    text({
      description: 'The routing key of PagerDuty, the API key of Opsgenie, the community of SNMP, or a bearer token.',
      max: 1024,
    }),
  ),
  least: choice(severities, { description: 'The least severity that is reported.', initial: 'warning' }),
  kinds: list(text({ description: 'A kind of problems, such as capacity.', max: 64 }), {
    description: 'Only problems of these kinds; all if empty.',
    max: 100,
  }),
  quiet_from: time(
    'When quiet hours begin, such as 22:00; only critical problems are reported in them. Empty for none.',
  ),
  quiet_until: time('When quiet hours end; what came in them and lasts is reported then.'),
  gather_seconds: integer({
    description: 'Seconds for which problems are gathered, so that a storm of them is one message.',
    ...{ min: 0, max: 600, initial: 15 },
  }),
  repeat_minutes: integer({
    description: 'Minutes after which a problem that is not acknowledged is reported again; 0 for never.',
    ...{ min: 0, max: 10_080, initial: 0 },
  }),
  reports_end: flag(true, { description: 'Whether the end of problems is reported too.' }),
  enabled: flag(true, { description: 'Whether anything is sent.' }),
} as const;

export const channelPath = 'holdfast/channel';

/** A receiver of alerts. What it was sent is kept beside the configuration. */
export const channel = collection(channelPath, {
  title: 'channel',
  description: 'A receiver of alerts.',
  verbs: [],
  order: ['name'],
  unique: [{ fields: ['name'], description: 'Another channel has this name.' }],
  ofMachine: true,
  fields: channelFields,
  check({ record, issues }) {
    const problem = addressProblem(record);
    if (problem !== undefined) issues.add('address', problem);
    if (['pagerduty', 'opsgenie'].includes(record.kind) && record.token === '')
      issues.add('token', `A channel of the kind ${record.kind} needs its key.`);
    if ((record.quiet_from === '') !== (record.quiet_until === ''))
      issues.add('quiet_until', 'Quiet hours need both a begin and an end.');
  },
});

export type Channel = RecordOf<typeof channel.fields>;

function addressProblem({ kind, address }: Channel): string | undefined {
  if (address === '') {
    const hasOwn = isTemplate(kind) && templateOf(kind).address !== undefined;
    return hasOwn ? undefined : `A channel of the kind ${kind} needs an address.`;
  }
  const url = URL.parse(address);
  const allowed: readonly string[] = kind === 'syslog' || kind === 'snmp' ? schemes[kind] : ['https:', 'http:'];
  if (url === null || !allowed.includes(url.protocol))
    return `Expected an address that begins with ${allowed.map((scheme) => `${scheme}//`).join(' or ')}.`;
  if (url.username !== '' || url.password !== '') return 'Expected an address without a user name and password.';
  if (isTemplate(kind)) return undefined;
  if (url.hostname === '') return 'Expected the name or the address of a host.';
  return url.port === '' ? 'Expected an address with a port.' : undefined;
}

/** What may be shown of an address. */
export function receiverOf({ kind, address }: Pick<Channel, 'kind' | 'address'>): string {
  const url = URL.parse(address || (isTemplate(kind) ? (templateOf(kind).address ?? '') : ''));
  return url === null ? '' : `${url.protocol}//${url.host}`;
}
