import type { JsonObject } from '../../lib/json.ts';
import { type Alert, type Bulletin, textOf, titleOf, toneOf } from './alert.ts';

/** A request to a receiver, as data: `{name}` in a text stands for a value. A text that is one name only becomes that value. */
interface Template {
  /** Whether each alert has a request of its own, because the receiver tracks it by its id. */
  readonly each: boolean;
  readonly headers: Readonly<Record<string, string>>;
  /** A text is sent as it is, anything else as JSON. */
  readonly body: JsonObject | string;
  /** For an alert that ended, if it differs. */
  readonly whenEnded?: { readonly path: string; readonly body: JsonObject };
  /** The address, if the service has one for all. */
  readonly address?: string;
  /** The longest title and text, in characters. */
  readonly most?: { readonly title: number; readonly text: number };
  /** The most bytes of a text. */
  readonly mostBytes?: number;
  /** How the service wants texts to be escaped. */
  readonly escapes?: 'entities';
}

const json = { 'content-type': 'application/json' };

export const templates = {
  webhook: {
    each: false,
    headers: { ...json, authorization: '{bearer}' },
    body: { type: 'alerts', host: '{host}', timestamp: '{time}', title: '{title}', text: '{text}', alerts: '{alerts}' },
  },
  slack: {
    each: false,
    headers: json,
    body: { text: '{title}', attachments: [{ color: '{colour}', fallback: '{title}', text: '{text}' }] },
    escapes: 'entities',
  },
  mattermost: {
    each: false,
    headers: json,
    body: {
      username: 'Holdfast',
      text: '{title}',
      attachments: [{ color: '{colour}', fallback: '{title}', text: '{text}' }],
    },
  },
  discord: {
    each: false,
    headers: json,
    body: {
      ...{ username: 'Holdfast', allowed_mentions: { parse: [] } },
      embeds: [{ title: '{title}', description: '{text}', color: '{colourNumber}', timestamp: '{time}' }],
    },
    most: { title: 256, text: 4000 },
  },
  teams: {
    each: false,
    headers: json,
    body: {
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          content: {
            ...{ $schema: 'http://adaptivecards.io/schemas/adaptive-card.json', type: 'AdaptiveCard', version: '1.4' },
            body: [
              {
                type: 'TextBlock',
                size: 'Medium',
                weight: 'Bolder',
                wrap: true,
                color: '{cardColour}',
                text: '{title}',
              },
              { type: 'TextBlock', wrap: true, text: '{text}' },
            ],
          },
        },
      ],
    },
  },
  pagerduty: {
    each: true,
    headers: json,
    body: {
      ...{ routing_key: '{token}', event_action: '{action}', dedup_key: '{id}', client: 'Holdfast' },
      payload: {
        ...{ summary: '{message}', source: '{host}', severity: '{severity}', timestamp: '{since}' },
        ...{ component: '{about}', class: '{kind}' },
      },
    },
    address: 'https://events.pagerduty.com/v2/enqueue',
    most: { title: 256, text: 1024 },
  },
  opsgenie: {
    each: true,
    headers: { ...json, authorization: 'GenieKey {token}' },
    body: {
      ...{ message: '{headline}', alias: '{id}', description: '{message}', entity: '{about}', source: '{host}' },
      ...{ priority: '{priority}', details: { kind: '{kind}', severity: '{severity}' } },
    },
    whenEnded: { path: '/{id}/close?identifierType=alias', body: { source: '{host}' } },
    address: 'https://api.opsgenie.com/v2/alerts',
    most: { title: 130, text: 10_000 },
  },
  ntfy: {
    each: false,
    headers: {
      ...{ 'content-type': 'text/plain; charset=utf-8', authorization: '{bearer}' },
      ...{ title: '{title}', priority: '{urgency}', tags: '{tag}' },
    },
    body: '{text}',
    // A longer message arrives as an attached file, which a phone does not show.
    mostBytes: 4096,
  },
} as const satisfies Readonly<Record<string, Template>>;

export type TemplateName = keyof typeof templates;

export const templateOf = (name: TemplateName): Template => templates[name];

const looks = {
  critical: { colour: '#c62828', cardColour: 'attention', priority: 'P1', urgency: '5', tag: 'rotating_light' },
  warning: { colour: '#f9a825', cardColour: 'warning', priority: 'P3', urgency: '4', tag: 'warning' },
  info: { colour: '#1565c0', cardColour: 'accent', priority: 'P5', urgency: '2', tag: 'information_source' },
  ended: { colour: '#2e7d32', cardColour: 'good', priority: 'P5', urgency: '3', tag: 'white_check_mark' },
} as const;

/** One request, and the alerts that it reports. */
export interface Request {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly alerts: readonly Alert[];
}

/** The requests that report a bulletin to a receiver. */
export function requestsOf(
  name: TemplateName,
  { address, token }: { readonly address: string; readonly token: string },
  bulletin: Bulletin,
): readonly Request[] {
  const template = templateOf(name);
  const base = address || (template.address ?? '');
  const parts = template.each ? bulletin.alerts.map((alert) => [alert]) : [bulletin.alerts];
  return parts.map((alerts) => {
    const values = valuesOf(template, { ...bulletin, alerts }, token);
    const isEnded = alerts.every(({ state }) => state === 'ended');
    const { path, body } = (isEnded && template.whenEnded) || { path: '', body: template.body };
    const filled = fill(body, values);
    const headers = Object.entries(template.headers).flatMap(([header, value]) => {
      const text = String(fill(value, values));
      return text === '' ? [] : [[header, text]];
    });
    return {
      ...{ url: `${base}${String(fill(path, values))}`, headers: Object.fromEntries(headers), alerts },
      body: typeof filled === 'string' ? filled : JSON.stringify(filled),
    };
  });
}

function valuesOf(
  { most, mostBytes, escapes }: Template,
  bulletin: Bulletin,
  token: string,
): Readonly<Record<string, unknown>> {
  const { host, at, alerts } = bulletin;
  const tone = toneOf(alerts);
  const look = looks[tone];
  const [first] = alerts;
  const shown = (text: string, length = Number.POSITIVE_INFINITY) => shortened(escapes ? entities(text) : text, length);
  return {
    ...{ ...look, colourNumber: Number.parseInt(look.colour.slice(1), 16) },
    ...{ host, token, bearer: token && `Bearer ${token}`, time: new Date(at).toISOString() },
    ...{
      title: shown(titleOf(bulletin), most?.title),
      text: withinBytes(shown(textOf(alerts), most?.text), mostBytes),
    },
    ...{ id: first?.id, kind: first?.kind, about: first?.about, severity: first?.severity },
    ...{ message: shown(first?.message ?? '', most?.text), headline: shown(first?.message ?? '', most?.title) },
    action: tone === 'ended' ? 'resolve' : 'trigger',
    since: new Date(first?.since ?? at).toISOString(),
    alerts: alerts.map(({ since, ...alert }) => ({ ...alert, since: new Date(since).toISOString() })),
  };
}

function fill(part: unknown, values: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(part)) return part.map((one) => fill(one, values));
  if (typeof part === 'object' && part !== null)
    return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, fill(value, values)]));
  if (typeof part !== 'string') return part;
  const [, only] = /^\{(\w+)\}$/.exec(part) ?? [];
  return only === undefined
    ? part.replaceAll(/\{(\w+)\}/g, (_, key: string) => String(values[key] ?? ''))
    : values[only];
}

const shortened = (text: string, most: number) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** The beginning of a text in as many bytes of UTF-8. */
function withinBytes(text: string, most = Number.POSITIVE_INFINITY): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  const ellipsis = '…';
  // Half a character at the end is decoded as a replacement character.
  const begin = bytes.subarray(0, most - Buffer.byteLength(ellipsis)).toString();
  return `${begin.replace(/\ufffd+$/, '')}${ellipsis}`;
}

const entities = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
