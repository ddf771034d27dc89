import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { View } from '../../engine/declare/resource.ts';
import type { Attempt, KeptAlert } from '../../engine/services.ts';
import { messageOf } from '../../lib/text.ts';
import { trustedAuthorities } from '../certificates/trust.ts';
import { answerTime, send } from '../webhooks/post.ts';
import type { Alert, Bulletin } from './alert.ts';
import { type Channel, isTemplate } from './channel.ts';
import { trapOf } from './snmp-trap.ts';
import { framed, syslogMessage } from './syslog.ts';
import { requestsOf } from './templates.ts';

export interface SenderParts {
  readonly view: () => View;
  readonly now: () => number;
  /** Whether alerts stay in memory instead of being sent, as on the virtual host. */
  readonly keeps: boolean;
}

/** The maximum number of messages that are kept; the oldest are dropped. */
const mostKept = 1000;

interface Parcel {
  readonly alerts: readonly Alert[];
  /** What is sent, as text, for the list of what was kept. */
  readonly body: string;
  /** Undefined where the protocol has no answer. */
  readonly deliver: (signal: AbortSignal) => Promise<{ readonly status: number | null; readonly wait: number }>;
}

/** Sends bulletins by the protocol of a channel, or keeps them in memory. */
export class Sender {
  readonly #parts: SenderParts;
  readonly #kept: KeptAlert[] = [];
  readonly #ending = new AbortController();
  #number = 0;

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  /** What was kept instead of sent, the newest first; undefined where alerts are sent. */
  get kept(): readonly KeptAlert[] | undefined {
    return this.#parts.keeps ? this.#kept.toReversed() : undefined;
  }

  end(): void {
    this.#ending.abort(new Error('The daemon ends.'));
  }

  /** Sends a bulletin. `accepted` receives the alerts that the receiver has got, also when a later one fails. */
  async send(channel: Channel, bulletin: Bulletin, accepted: (alerts: readonly Alert[]) => void): Promise<Attempt> {
    const begun = performance.now();
    const took = () => Math.round(performance.now() - begun);
    let last: number | null = null;
    try {
      for (const { alerts, body, deliver } of this.#parcels(channel, bulletin)) {
        this.#ending.signal.throwIfAborted();
        const { status, wait } = this.#parts.keeps ? this.#keep(channel, body) : await deliver(this.#ending.signal);
        last = status;
        if (status !== null && (status < 200 || status >= 300))
          return { accepted: false, status, problem: `The receiver answered ${status}.`, wait, milliseconds: took() };
        accepted(alerts);
      }
      return { accepted: true, status: last, problem: '', wait: 0, milliseconds: took() };
    } catch (error) {
      return { accepted: false, status: null, problem: messageOf(error), wait: 0, milliseconds: took() };
    }
  }

  #keep({ name, kind }: Channel, body: string) {
    this.#number += 1;
    this.#kept.push(
      Object.freeze({ number: this.#number, at: new Date(this.#parts.now()).toISOString(), channel: name, kind, body }),
    );
    this.#kept.splice(0, this.#kept.length - mostKept);
    return { status: 204, wait: 0 };
  }

  #parcels({ kind, address, token }: Channel, bulletin: Bulletin): readonly Parcel[] {
    const { view } = this.#parts;
    if (isTemplate(kind))
      return requestsOf(kind, { address, token }, bulletin).map(({ alerts, ...request }) => ({
        alerts,
        body: request.body,
        deliver: async (signal) => {
          const trust = request.url.startsWith('https:') ? await trustedAuthorities(view()) : '';
          return send({ ...request, headers: { 'user-agent': 'Holdfast', ...request.headers } }, { trust, signal });
        },
      }));
    const target = targetOf(address);
    return bulletin.alerts.map((alert) => {
      if (kind === 'snmp') {
        const community = token || 'public';
        const number = Math.floor(Math.random() * 2 ** 31);
        const trap = trapOf(alert, { community, number, upSeconds: process.uptime() });
        return { alerts: [alert], body: alert.message, deliver: () => sendDatagram(target, trap) };
      }
      const message = syslogMessage(alert, bulletin);
      const deliver = async (signal: AbortSignal) => {
        if (target.scheme === 'udp:') return sendDatagram(target, Buffer.from(message));
        const trust = target.scheme === 'tls:' ? await trustedAuthorities(view()) : undefined;
        return sendStream(target, framed(message), { trust, signal });
      };
      return { alerts: [alert], body: message, deliver };
    });
  }
}

interface Target {
  readonly scheme: string;
  readonly host: string;
  readonly port: number;
}

function targetOf(address: string): Target {
  const { protocol, hostname, port } = new URL(address);
  return { scheme: protocol, host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) };
}

const unanswered = { status: null, wait: 0 } as const;

/** A datagram has no answer: that it was sent is all that is known. */
async function sendDatagram({ host, port }: Target, content: Buffer) {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.send(content, port, host, (error) => (error === null ? resolve() : reject(error)));
    });
    return unanswered;
  } finally {
    socket.close();
  }
}

/** The receiver of a stream does not answer either; that it has closed its side afterwards shows that it read. */
async function sendStream(
  { host, port }: Target,
  content: Buffer,
  { trust, signal }: { readonly trust: string | undefined; readonly signal: AbortSignal },
) {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(answerTime)]);
  const isName = !/^[\d.]+$|:/.test(host);
  const socket =
    trust === undefined
      ? connect({ host, port })
      : connectTls({ host, port, ca: trust, allowPartialTrustChain: true, ...(isName && { servername: host }) });
  const failed = once(socket, 'error').then(([error]) => {
    throw new Error(`The receiver could not be reached: ${messageOf(error)}`, { cause: error });
  });
  const stop = () => socket.destroy(new Error('it did not answer in time'));
  limit.addEventListener('abort', stop);
  try {
    await Promise.race([once(socket, trust === undefined ? 'connect' : 'secureConnect'), failed]);
    const written = new Promise<void>((resolve) => socket.end(content, resolve));
    await Promise.race([written, failed]);
    return unanswered;
  } finally {
    limit.removeEventListener('abort', stop);
    failed.catch(() => {});
    socket.destroySoon();
  }
}
