/** The commands that are not derived from the catalogue. */
import { setTimeout as pause } from 'node:timers/promises';
import { isObject } from '../../lib/json.ts';
import { quote } from '../../lib/text.ts';
import { ownInterface } from './appliance.ts';
import { fingerprintOf, remoteConnection } from './connection.ts';
import { readContexts, writeContexts } from './contexts.ts';
import { CommandError, type Exit, exits, usage } from './failure.ts';
import { followJob } from './jobs.ts';
import { formatOf, yaml } from './output.ts';
import { type Calling, headersOf, plan } from './records.ts';
import type { Terminal } from './terminal.ts';
import { textOf } from './values.ts';

/** `holdfast events`: a line for each event, or JSON lines. */
export async function followEvents({ appliance, terminal, given }: Calling): Promise<Exit> {
  const query = new URLSearchParams();
  for (const name of ['kind', 'resource']) {
    const text = given.fields.get(name)?.at(-1);
    if (text !== undefined) query.set(name, nameOnWire(appliance.vocabulary.resources, text));
  }
  const waits = given.options.get('no-wait') !== true;
  const limit = given.options.get('limit');
  let left = typeof limit === 'string' ? Number(limit) : Number.POSITIVE_INFINITY;
  let after = given.fields.get('after')?.at(-1) ?? (waits ? undefined : '0');
  const format = formatOf(given.options.get('output'));
  for (;;) {
    if (after !== undefined) query.set('after', after);
    query.set('wait', waits ? '30' : '0');
    const page = await appliance.get(`${ownInterface}/events/poll?${query}`);
    const events = isObject(page) && Array.isArray(page['events']) ? page['events'].filter(isObject) : [];
    for (const event of events) {
      if (left <= 0) return exits.done;
      left -= 1;
      if (format === 'json') terminal.out(`${JSON.stringify(event)}\n`);
      else terminal.out(`${String(event['at'])}  ${String(event['name'])}  ${summaryOf(event['payload'])}\n`);
    }
    after = isObject(page) ? String(page['last']) : after;
    if (left <= 0 || (!waits && events.length === 0)) return exits.done;
  }
}

function nameOnWire(resources: readonly { readonly name: string; readonly path: string }[], text: string): string {
  return resources.find(({ name }) => name === text)?.path ?? text;
}

function summaryOf(payload: unknown): string {
  if (!isObject(payload)) return '';
  return Object.entries(payload)
    .filter(([, value]) => value !== null && typeof value !== 'object')
    .map(([name, value]) => `${name}=${/\s/.test(String(value)) ? JSON.stringify(String(value)) : String(value)}`)
    .join(' ');
}

export async function showJob({ appliance, terminal }: Calling, id: string): Promise<Exit> {
  if (!/^\d+$/.test(id)) throw usage(`jobs: Expected the number of a job, got ${quote(id)}.`);
  const exit = await followJob(appliance, terminal, Number(id));
  const job = await appliance.get(`${ownInterface}/jobs/${id}`);
  if (isObject(job) && job['result'] !== null) terminal.out(yaml(job['result']));
  return exit;
}

export async function revert(calling: Calling): Promise<Exit> {
  const { appliance, terminal, given } = calling;
  const number = given.words[1];
  if (number === undefined || !/^\d+$/.test(number))
    throw usage('Expected the number of a revision: holdfast revert NUMBER. Their numbers: holdfast revisions');
  const path = `${ownInterface}/revisions/${number}/revert`;
  if (given.options.get('plan') === true) return plan(calling, 'POST', path, undefined);
  const { value } = await appliance.send('POST', path, { body: {}, headers: headersOf(given) });
  const made = isObject(value) ? ` It is the revision ${String(value['number'])}.` : '';
  terminal.out(`Reverted the revision ${number}.${made}\n`);
  return exits.done;
}

/** Any request of a principal that may make the change confirms it, over a new connection. */
export async function confirm({ appliance, terminal }: Calling): Promise<Exit> {
  const before = await appliance.get(`${ownInterface}/confirmation`);
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const waiting = await appliance.get(`${ownInterface}/confirmation`);
    if (waiting === null) {
      terminal.out(
        isObject(before) ? `Confirmed: ${String(before['title'])}.\n` : 'No change waits for a confirmation.\n',
      );
      return exits.done;
    }
    await pause(100);
  }
  throw new CommandError(
    exits.refused,
    'The change still waits: it is confirmed by a request over the connection that it changed. Use a --context with the new address.',
  );
}

/** `holdfast api METHOD PATH [JSON]`: the answer as it is. */
export async function callApi({ appliance, terminal, given }: Calling): Promise<Exit> {
  const [, method = '', path = '', body] = given.words;
  if (!/^(?:GET|POST|PUT|DELETE)$/i.test(method) || path === '')
    throw usage(
      'Expected a method and a path: holdfast api GET /sharing/cifs/. Paths without /api/ begin at /api/v1.0/.',
    );
  const plain = path.replace(/^\/+/, '');
  const text = body === undefined ? undefined : textOf(body, terminal);
  const { connection } = appliance;
  const answer = await connection.send(method.toUpperCase(), /^api\//.test(plain) ? plain : `api/v1.0/${plain}`, {
    ...(text === undefined ? {} : { body: jsonIn(text) }),
    headers: headersOf(given),
  });
  const shown = typeof answer.value === 'string' ? answer.text : JSON.stringify(answer.value, null, 2);
  if (shown !== '') terminal.out(shown.endsWith('\n') ? shown : `${shown}\n`);
  if (answer.status < 300) return exits.done;
  terminal.err(`holdfast: The appliance answered ${answer.status}.\n`);
  if (answer.status === 404) return exits.notFound;
  if (answer.status === 401 || answer.status === 403) return exits.notAllowed;
  return answer.status === 409 || answer.status === 412 ? exits.conflict : exits.refused;
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw usage(`Expected JSON as the body, got ${quote(text)}.`);
  }
}

// Contexts -----------------------------------------------------------------------------------------------------------

export async function contexts(
  { terminal, given }: Omit<Calling, 'appliance'>,
  options: { readonly fingerprint: string | undefined; readonly key: string | undefined },
): Promise<Exit> {
  const [, what = 'list', name, address] = given.words;
  const { environment } = terminal;
  const known = readContexts(environment);
  if (what === 'list') {
    const names = Object.keys(known.contexts);
    terminal.out(`${known.current === undefined ? '*' : ' '} local  this machine\n`);
    for (const one of names)
      terminal.out(`${one === known.current ? '*' : ' '} ${one}  ${known.contexts[one]?.address ?? ''}\n`);
    return exits.done;
  }
  if (name === undefined) throw usage(`Expected a name: holdfast context ${what} NAME`);
  if (what === 'use') {
    if (name !== 'local' && known.contexts[name] === undefined)
      throw new CommandError(exits.notFound, `There is no context ${quote(name)}. See: holdfast context list`);
    writeContexts(environment, { ...known, current: name === 'local' ? undefined : name });
    terminal.out(`Commands are for ${name === 'local' ? 'this machine' : name} now.\n`);
    return exits.done;
  }
  if (what === 'remove') {
    const { [name]: removed, ...contexts } = known.contexts;
    if (removed === undefined) throw new CommandError(exits.notFound, `There is no context ${quote(name)}.`);
    writeContexts(environment, { current: known.current === name ? undefined : known.current, contexts });
    terminal.out(`Removed the context ${name}.\n`);
    return exits.done;
  }
  if (what !== 'add' || address === undefined || name === 'local')
    throw usage(
      'Expected: holdfast context list, use NAME, remove NAME, or add NAME https://ADDRESS[:PORT] [--key @FILE] [--fingerprint SHA256]',
    );
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw usage(`Expected an address such as https://nas.example.org, got ${quote(address)}.`);
  if (url.protocol === 'http:' && !/^(?:localhost|127\.[\d.]+|\[::1\])$/.test(url.hostname))
    throw usage(
      `Expected an address that begins with https://, got ${quote(address)}: the key would be sent in clear.`,
    );
  const fingerprint =
    url.protocol === 'https:' ? await fingerprintFor(terminal, address, options.fingerprint) : undefined;
  const key = await keyFor(name, terminal, options.key);
  const remote = { address: url.origin, key, ...(fingerprint === undefined ? {} : { fingerprint }) };
  writeContexts(environment, { current: known.current ?? name, contexts: { ...known.contexts, [name]: remote } });
  terminal.out(`Added the context ${name}.${known.current === undefined ? ' Commands are for it now.' : ''}\n`);
  return exits.done;
}

/** `holdfast login [CONTEXT]`: another key for an appliance, which is stored if the appliance accepts it. */
export async function login(
  { terminal, given }: Omit<Calling, 'appliance'>,
  options: { readonly key: string | undefined },
): Promise<Exit> {
  const { environment } = terminal;
  const known = readContexts(environment);
  const name = given.words[1] ?? known.current;
  const remote = name === undefined ? undefined : known.contexts[name];
  if (name === undefined)
    throw usage('Expected the name of a context: holdfast login NAME. Commands for this machine need no key.');
  if (remote === undefined)
    throw new CommandError(exits.notFound, `There is no context ${quote(name)}. See: holdfast context list`);
  const renewed = { ...remote, key: await keyFor(name, terminal, options.key) };
  const { status, value } = await remoteConnection(name, renewed).send('GET', `${ownInterface}/daemon`);
  // What the key may do is decided by each request.
  if (status === 401) throw new CommandError(exits.notAllowed, `${name} refused the key. Nothing was changed.`, value);
  writeContexts(environment, { ...known, contexts: { ...known.contexts, [name]: renewed } });
  terminal.out(`${name} accepts the key.\n`);
  return exits.done;
}

async function keyFor(name: string, terminal: Terminal, option: string | undefined): Promise<string> {
  if (option !== undefined) return textOf(option, terminal).trim();
  return (terminal.asks ? await terminal.question(`Key for ${name}: `) : textOf('@-', terminal)).trim();
}

async function fingerprintFor(terminal: Terminal, address: string, expected: string | undefined): Promise<string> {
  const shown = await fingerprintOf(address).catch((error: unknown) => {
    throw new CommandError(
      exits.unreachable,
      `${address} does not answer: ${error instanceof Error ? error.message : String(error)}.`,
    );
  });
  if (expected !== undefined) {
    if (expected.toUpperCase() === shown) return shown;
    throw new CommandError(
      exits.refused,
      `The certificate of ${address} has the fingerprint ${shown}, expected ${expected}.`,
    );
  }
  if (!terminal.asks)
    throw usage(
      `Add --fingerprint with the SHA-256 of its certificate. Now it shows ${shown}; compare that on the appliance.`,
    );
  const answer = await terminal.question(
    `The certificate of ${address} has the fingerprint ${shown}. Is it right? [yes/no] `,
  );
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new CommandError(exits.refused, 'Nothing was changed.');
  return shown;
}
