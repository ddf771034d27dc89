/**
 * Receivers of alerts on the loopback. Those of `ntfy`, PagerDuty and Opsgenie accept what the documentation of the
 * service allows, keep what it would show, and refuse everything else with the reason.
 */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { isObject } from '../../src/lib/json.ts';

export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface AlertReceiver extends AsyncDisposable {
  /** Its address, without a path. */
  readonly url: string;
  readonly received: readonly ReceivedRequest[];
}

/** The status of an answer; without one, the connection ends without an answer. */
type Reply = number | undefined;

export async function alertReceiver(
  replyTo: (request: ReceivedRequest) => Reply | Promise<Reply> = () => 200,
): Promise<AlertReceiver> {
  const received: ReceivedRequest[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (part: string) => {
      body += part;
    });
    request.on('end', async () => {
      const { method = '', url = '', headers } = request;
      const whole = { method, url, headers, body };
      received.push(whole);
      const status = await replyTo(whole);
      if (status === undefined) request.socket.destroy();
      else response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    received,
    url: `http://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What a strict receiver makes of a request. */
type Judgement = { readonly status: number; readonly reason: string };

/** A receiver with a list of what it refused, and why. */
async function strict(judge: (request: ReceivedRequest) => Judgement) {
  const refused: string[] = [];
  const receiver = await alertReceiver((request) => {
    const { status, reason } = judge(request);
    if (reason !== '') refused.push(`${status} ${reason}: ${request.body}`);
    return status;
  });
  return { ...receiver, refused };
}

const refuse = (status: number, reason: string): Judgement => ({ status, reason });
const accept = (status: number): Judgement => ({ status, reason: '' });

/** The longest message of `ntfy`: a longer one arrives as an attached file. */
export const longestNote = 4096;

export interface Note {
  readonly title: string;
  readonly priority: number;
  readonly tags: readonly string[];
  readonly message: string;
}

/** A server of `ntfy` with one topic and one token. */
export async function ntfyServer({ topic, token }: { readonly topic: string; readonly token: string }) {
  const notes: Note[] = [];
  const receiver = await strict(({ method, url, headers, body }) => {
    if (headers.authorization !== `Bearer ${token}`) return refuse(401, 'the token');
    if (method !== 'POST' || url !== `/${topic}`) return refuse(404, 'the topic');
    if (Buffer.byteLength(body) > longestNote) return refuse(413, 'the length of the message');
    const title = String(headers['title'] ?? '');
    if (!/^[\x20-\x7e]{1,250}$/.test(title)) return refuse(400, 'the title');
    const priority = Number(headers['priority']);
    if (![1, 2, 3, 4, 5].includes(priority)) return refuse(400, 'the priority');
    notes.push({ title, priority, tags: String(headers['tags']).split(','), message: body });
    return accept(200);
  });
  return { ...receiver, notes };
}

const isText = (value: unknown, most: number, least = 1): value is string =>
  typeof value === 'string' && value.length >= least && value.length <= most;

const hasOnly = (value: Readonly<Record<string, unknown>>, names: readonly string[]) =>
  Object.keys(value).every((name) => names.includes(name));

const isTime = (value: unknown) => typeof value === 'string' && new Date(value).toISOString() === value;

export interface Incident {
  readonly summary: string;
  readonly severity: string;
  /** How often it was triggered while it was open. */
  readonly triggers: number;
}

/** PagerDuty's Events API v2 with one routing key, which has 32 characters. */
export async function pagerDuty(routingKey: string) {
  const open = new Map<string, Incident>();
  const resolved: string[] = [];
  const receiver = await strict(({ method, url, headers, body }) => {
    if (method !== 'POST' || url !== '/v2/enqueue') return refuse(404, 'the path');
    if (headers['content-type'] !== 'application/json') return refuse(415, 'the type of the content');
    const event: unknown = JSON.parse(body);
    if (!isObject(event)) return refuse(400, 'no event');
    const { routing_key, event_action, dedup_key, payload } = event;
    if (!hasOnly(event, ['routing_key', 'event_action', 'dedup_key', 'payload', 'client', 'client_url', 'links']))
      return refuse(400, 'a member');
    if (routing_key !== routingKey || routingKey.length !== 32) return refuse(400, 'routing_key');
    if (!isText(dedup_key, 255)) return refuse(400, 'dedup_key');
    if (event_action === 'resolve') {
      open.delete(dedup_key);
      resolved.push(dedup_key);
      return accept(202);
    }
    if (event_action !== 'trigger' || !isObject(payload)) return refuse(400, 'event_action');
    const { summary, source, severity, timestamp, component } = payload;
    const members = ['summary', 'source', 'severity', 'timestamp', 'component', 'group', 'class', 'custom_details'];
    if (!hasOnly(payload, members)) return refuse(400, 'a member of the payload');
    if (!isText(summary, 1024) || !isText(source, 1024) || !isText(component, 1024)) return refuse(400, 'a text');
    if (!isText(severity, 8) || !['critical', 'error', 'warning', 'info'].includes(severity))
      return refuse(400, 'severity');
    if (!isTime(timestamp)) return refuse(400, 'timestamp');
    open.set(dedup_key, { summary, severity, triggers: (open.get(dedup_key)?.triggers ?? 0) + 1 });
    return accept(202);
  });
  return { ...receiver, open, resolved };
}

/** Opsgenie's Alert API with one key. */
export async function opsgenie(key: string) {
  const open = new Map<string, { readonly message: string; readonly priority: string }>();
  const receiver = await strict(({ method, url, headers, body }) => {
    if (headers.authorization !== `GenieKey ${key}`) return refuse(403, 'the key');
    const { pathname, searchParams } = new URL(url, 'http://receiver');
    const [, closed] = /^\/v2\/alerts\/([^/]+)\/close$/.exec(pathname) ?? [];
    const alert: unknown = JSON.parse(body);
    if (method !== 'POST' || !isObject(alert)) return refuse(404, 'the request');
    if (closed !== undefined) {
      // Without the type, the last part of the path would be the id that Opsgenie gave.
      if (searchParams.get('identifierType') !== 'alias') return refuse(400, 'identifierType');
      open.delete(closed);
      return accept(202);
    }
    if (pathname !== '/v2/alerts') return refuse(404, 'the path');
    const { message, alias, description, entity, source, priority, details } = alert;
    if (!isText(message, 130) || !isText(alias, 512) || !isText(description, 15_000)) return refuse(422, 'a text');
    if (!isText(entity, 512) || !isText(source, 100)) return refuse(422, 'entity or source');
    if (!isText(priority, 2) || !/^P[1-5]$/.test(priority)) return refuse(422, 'priority');
    if (!isObject(details) || Object.values(details).some((value) => typeof value !== 'string'))
      return refuse(422, 'details');
    open.set(alias, { message, priority });
    return accept(202);
  });
  return { ...receiver, open };
}
