import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { isObject } from '../../lib/json.ts';
import { messageOf } from '../../lib/text.ts';

/** The protocol by which an authority issues certificates (RFC 8555), as far as a client needs it. */

export interface AcmeAccount {
  /** Address of the authority's directory. */
  readonly directory: string;
  /** Private key of the account in PEM, of the curve P-256. */
  readonly key: string;
  /** For messages of the authority; empty for none. */
  readonly contact: string;
}

export interface AcmeOrder {
  /** Host names and addresses. */
  readonly names: readonly string[];
  /** Signing request with these names, in PEM. */
  readonly csr: string;
  readonly challenge: 'http-01' | 'dns-01';
  /** Makes the proof of a name visible to the authority, and returns what removes it again. */
  prove(proof: Proof): Promise<() => Promise<void>>;
}

export interface Proof {
  /** The name, of a wildcard without its star. */
  readonly name: string;
  readonly token: string;
  /** What HTTP answers for the token. */
  readonly answer: string;
  /** What the TXT record of `_acme-challenge` contains. */
  readonly record: string;
}

export interface AcmeOptions {
  /** Certificates in PEM that the authority's server is verified by. */
  readonly trust: string;
  readonly signal: AbortSignal;
  readonly progress: (what: string) => void;
}

type JsonObject = Readonly<Record<string, unknown>>;

/** What the authority refused, in its own words. */
export class AcmeError extends Error {}

const answerTime = 30_000;
const longestAnswer = 1024 ** 2;
/** Of a new nonce when the authority does not know the one that was sent, which it may do at any time. */
const mostTries = 8;
/** How long an authority may take for one step. */
const patience = 5 * 60_000;

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Orders a certificate, and returns it with its intermediate certificates in PEM. */
export async function orderCertificate(account: AcmeAccount, order: AcmeOrder, options: AcmeOptions): Promise<string> {
  const session = await Session.open(account, options);
  const identifiers = order.names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }));
  const made = await session.post(session.address('newOrder'), { identifiers });
  const address = String(made.headers.location);
  const placed = bodyOf(made);
  for (const authorization of textsOf(placed['authorizations'])) await authorize(session, authorization, order);
  options.progress('waiting for the certificate');
  await session.settled(address, ['ready', 'valid']);
  await session.post(String(placed['finalize']), { csr: derOf(order.csr).toString('base64url') });
  const finished = await session.settled(address, ['valid']);
  return (await session.post(String(finished['certificate']), undefined)).text;
}

async function authorize(session: Session, address: string, order: AcmeOrder): Promise<void> {
  const authorization = bodyOf(await session.post(address, undefined));
  if (authorization['status'] === 'valid') return;
  const name = String(isObject(authorization['identifier']) ? authorization['identifier']['value'] : '');
  const offered: readonly unknown[] = Array.isArray(authorization['challenges']) ? authorization['challenges'] : [];
  const challenge = offered.filter(isObject).find(({ type }) => type === order.challenge);
  if (challenge === undefined)
    throw new AcmeError(
      `${session.host} does not offer ${order.challenge} for ${name}, only ${offered
        .filter(isObject)
        .map(({ type }) => type)
        .join(', ')}.`,
    );
  const token = String(challenge['token']);
  // It becomes a part of a path and of a file of the DNS.
  if (!/^[A-Za-z0-9_-]{1,256}$/.test(token)) throw new AcmeError(`${session.host} sent an invalid token for ${name}.`);
  const answer = `${token}.${session.thumbprint}`;
  session.options.progress(`proving ${name} by ${order.challenge}`);
  const remove = await order.prove({ name, token, answer, record: digestOf(answer) });
  try {
    await session.post(String(challenge['url']), {});
    await session.settled(address, ['valid']);
  } finally {
    await remove();
  }
}

/** An account that is logged in, and the nonce of its next request. */
class Session {
  readonly host: string;
  readonly options: AcmeOptions;
  readonly thumbprint: string;
  readonly #key: KeyObject;
  readonly #jwk: JsonObject;
  readonly #directory: JsonObject;
  #account: string | undefined;
  #nonce: string | undefined;

  private constructor({ directory, key }: AcmeAccount, addresses: JsonObject, options: AcmeOptions) {
    this.host = new URL(directory).host;
    this.options = options;
    this.#directory = addresses;
    this.#key = createPrivateKey(key);
    const { crv, kty, x, y } = createPublicKey(this.#key).export({ format: 'jwk' });
    this.#jwk = { crv: String(crv), kty: String(kty), x: String(x), y: String(y) };
    // The members in this order (RFC 7638).
    this.thumbprint = digestOf(JSON.stringify(this.#jwk));
  }

  static async open(account: AcmeAccount, options: AcmeOptions): Promise<Session> {
    const { host } = new URL(account.directory);
    options.progress(`asking ${host}`);
    const session = new Session(
      account,
      bodyOf(checked(await send('GET', account.directory, undefined, options), host)),
      options,
    );
    const contact = account.contact === '' ? {} : { contact: [`mailto:${account.contact}`] };
    const made = await session.post(session.address('newAccount'), { termsOfServiceAgreed: true, ...contact });
    session.#account = String(made.headers.location);
    return session;
  }

  address(name: string): string {
    const address = this.#directory[name];
    if (typeof address === 'string') return address;
    throw new AcmeError(`Expected the address of an ACME directory, but the answer of ${this.host} has no ${name}.`);
  }

  /** Sends a signed request; without a body it reads (RFC 8555, 6.3). */
  async post(url: string, body: JsonObject | undefined): Promise<Answer> {
    for (let tries = 1; ; tries += 1) {
      const answer = await send('POST', url, await this.#signed(url, body), this.options);
      this.#note(answer);
      if (tries < mostTries && problemType(answer) === 'badNonce') continue;
      return checked(answer, this.host);
    }
  }

  /** Waits until the object has one of these states. */
  async settled(url: string, states: readonly string[]): Promise<JsonObject> {
    const until = Date.now() + patience;
    for (;;) {
      const answer = await this.post(url, undefined);
      const body = bodyOf(answer);
      const state = String(body['status']);
      if (states.includes(state)) return body;
      if (!['pending', 'processing', 'ready'].includes(state))
        throw new AcmeError(`${this.host}: ${wordsIn(body) ?? `the state became ${state}.`}`);
      if (Date.now() > until) throw new AcmeError(`${this.host} did not come to an end within five minutes.`);
      const seconds = Number(answer.headers['retry-after'] ?? 1);
      const wait = Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0.25), 30) : 1;
      await pause(wait * 1000, undefined, { signal: this.options.signal });
    }
  }

  async #signed(url: string, body: JsonObject | undefined): Promise<string> {
    const nonce = this.#nonce ?? (await this.#newNonce());
    this.#nonce = undefined;
    const who = this.#account === undefined ? { jwk: this.#jwk } : { kid: this.#account };
    const header = encoded(JSON.stringify({ alg: 'ES256', nonce, url, ...who }));
    const payload = body === undefined ? '' : encoded(JSON.stringify(body));
    const signature = sign('sha256', Buffer.from(`${header}.${payload}`), {
      key: this.#key,
      dsaEncoding: 'ieee-p1363',
    });
    return JSON.stringify({ protected: header, payload, signature: signature.toString('base64url') });
  }

  async #newNonce(): Promise<string> {
    const { headers } = checked(await send('HEAD', this.address('newNonce'), undefined, this.options), this.host);
    const nonce = headers['replay-nonce'];
    if (typeof nonce !== 'string') throw new AcmeError(`${this.host} sent no nonce.`);
    return nonce;
  }

  #note({ headers }: Answer): void {
    const nonce = headers['replay-nonce'];
    if (typeof nonce === 'string') this.#nonce = nonce;
  }
}

function send(method: string, url: string, body: string | undefined, options: AcmeOptions): Promise<Answer> {
  const { host, protocol } = new URL(url);
  if (protocol !== 'https:') throw new AcmeError(`Expected an address with https, got ${url}.`);
  return new Promise<Answer>((resolve, reject) => {
    const failed = (error: unknown) =>
      reject(
        options.signal.aborted
          ? options.signal.reason
          : new AcmeError(`${host} could not be asked: ${messageOf(error)}`, { cause: error }),
      );
    const sent = httpsRequest(url, {
      method,
      // An imported authority may be an intermediate one.
      ...{ ca: options.trust, allowPartialTrustChain: true, agent: false },
      signal: AbortSignal.any([options.signal, AbortSignal.timeout(answerTime)]),
      headers: {
        'user-agent': 'Holdfast',
        ...(body !== undefined && {
          'content-type': 'application/jose+json',
          'content-length': Buffer.byteLength(body),
        }),
      },
    });
    sent.on('error', failed);
    sent.on('response', (response) => {
      const parts: Buffer[] = [];
      let length = 0;
      response.on('data', (part: Buffer) => {
        length += part.length;
        if (length > longestAnswer) response.destroy(new Error('the answer is too long'));
        else parts.push(part);
      });
      response.on('error', failed);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(parts).toString('utf8'),
        }),
      );
    });
    sent.end(body);
  });
}

function checked(answer: Answer, host: string): Answer {
  if (answer.status >= 200 && answer.status < 300) return answer;
  const body = parsed(answer.text);
  throw new AcmeError(`${host}: ${(isObject(body) && wordsIn(body)) || `it answered ${answer.status}.`}`);
}

/** The words of the problems in an answer, or in the parts of an authorization or order that failed. */
function wordsIn(body: JsonObject): string | undefined {
  const own = typeof body['detail'] === 'string' ? [`${body['detail']}${typeOf(body)}`] : [];
  const parts = [body['error'], body['subproblems'], body['challenges']].flat().filter(isObject);
  const words = [...own, ...parts.flatMap((part) => wordsIn(part) ?? [])];
  return words.length === 0 ? undefined : [...new Set(words)].join('; ');
}

function typeOf({ type }: JsonObject): string {
  return typeof type === 'string' && type.startsWith('urn:') ? ` (${type})` : '';
}

function problemType({ status, text }: Answer): string | undefined {
  const body = status >= 400 ? parsed(text) : undefined;
  return isObject(body) ? String(body['type']).split(':').at(-1) : undefined;
}

function bodyOf({ text }: Answer): JsonObject {
  const body = parsed(text);
  if (isObject(body)) return body;
  throw new AcmeError(`Expected a JSON object from an ACME server, got ${JSON.stringify(text.slice(0, 80))}.`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const textsOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);
const encoded = (text: string) => Buffer.from(text).toString('base64url');
const digestOf = (text: string) => createHash('sha256').update(text).digest('base64url');
const derOf = (pem: string) => Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');
