import { existsSync } from 'node:fs';
import type { CommandWords, FieldWords, ResourceWords, Vocabulary } from '../../engine/declare/vocabulary.ts';
import { messageOf } from '../../lib/text.ts';
import type { Settings } from '../settings.ts';
import { Appliance } from './appliance.ts';
import { commandFor, fieldsOf, type Given, parse, resourceNamed } from './command-line.ts';
import { type Connection, localConnection, remoteConnection } from './connection.ts';
import { readContexts } from './contexts.ts';
import { explain, helpFor } from './explain.ts';
import { CommandError, type Exit, exits, usage } from './failure.ts';
import { callApi, confirm, contexts, followEvents, login, revert, showJob } from './further.ts';
import { runCommand } from './records.ts';
import type { Terminal } from './terminal.ts';

export interface Client {
  readonly vocabulary: () => Promise<Vocabulary>;
  readonly terminal: Terminal;
  /** The socket of the daemon on this machine. */
  readonly socket: () => string;
  /** The settings of the daemon on this machine. */
  readonly settings: () => Settings;
  readonly version: () => string;
}

/** Runs a command for people and scripts. Returns the exit code. */
export async function runClient(argv: readonly string[], client: Client): Promise<Exit> {
  try {
    return await run(argv, client);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const asJson = argv.some(
      (word, index) =>
        word === '-ojson' ||
        word === '--output=json' ||
        (word === 'json' && /^(?:-o|--output)$/.test(argv[index - 1] ?? '')),
    );
    if (asJson)
      client.terminal.err(
        `${JSON.stringify({ exit: error.exit, message: error.message, answer: error.answer ?? null })}\n`,
      );
    else
      client.terminal.err(
        `${error.message
          .split('\n')
          .map((line) => `holdfast: ${line}`)
          .join('\n')}\n`,
      );
    return error.exit;
  }
}

/** Other words for commands that the catalogue has. */
const short: Readonly<Record<string, readonly string[]>> = {
  jobs: ['list', 'job'],
  revisions: ['list', 'revision'],
  problems: ['list', 'problem'],
  drift: ['show', 'drift'],
};

const plainText = (name: string): FieldWords => ({
  ...{ name, wire: name, title: name, description: '', kind: 'text' as const, shown: false, sent: true },
});
const flagField = (name: string): FieldWords => ({ ...plainText(name), kind: 'boolean' });
const extraFields: Readonly<Record<string, readonly FieldWords[]>> = {
  events: [plainText('kind'), plainText('resource'), plainText('after')],
  context: [plainText('key'), plainText('fingerprint')],
  login: [plainText('key')],
  export: [flagField('full'), plainText('secrets')],
  diff: [plainText('file'), flagField('prune'), plainText('name')],
  apply: [plainText('file'), flagField('prune'), plainText('name'), plainText('token')],
  migrate: [
    plainText('secret'),
    { ...plainText('interface'), kind: 'list' as const },
    flagField('root'),
    flagField('rehearse'),
  ],
};

async function run(argv: readonly string[], client: Client): Promise<Exit> {
  const { terminal } = client;
  const vocabulary = await client.vocabulary();
  const [first = '', second] = argv;
  if (first === 'completion' || first === '__complete') {
    const { completion, complete } = await import('./completion.ts');
    if (first === 'completion') return completion(second, terminal);
    return complete(argv.slice(1), vocabulary, terminal, (name) => applianceFor(client, vocabulary, name));
  }
  // `holdfast revisions 12` shows one.
  const expanded =
    short[first] === undefined || (first === 'jobs' && second !== undefined && !second.startsWith('-'))
      ? argv
      : first === 'revisions' && second !== undefined && !second.startsWith('-')
        ? ['show', 'revision', ...argv.slice(1)]
        : [...short[first], ...argv.slice(1)];
  const given = parse(first === 'diff' || first === 'apply' ? withLongFile(expanded) : expanded, (words) =>
    fieldsFor(vocabulary, words),
  );
  const [verb = ''] = given.words;
  if (given.options.has('help') || verb === '' || verb === 'help') {
    terminal.out(helpFor(vocabulary, verb === 'help' ? given.words.slice(1) : given.words));
    return exits.done;
  }
  if (verb === 'explain') {
    terminal.out(explain(vocabulary, given.words[1]));
    return exits.done;
  }
  const ofField = (name: string) => given.fields.get(name)?.at(-1);
  if (verb === 'context')
    return contexts({ terminal, given }, { key: ofField('key'), fingerprint: ofField('fingerprint') });
  if (verb === 'login') return login({ terminal, given }, { key: ofField('key') });
  const context = given.options.get('context');
  if (verb === 'doctor') return examine(client, vocabulary, given);
  const known: { readonly resource: ResourceWords; readonly command: CommandWords } | undefined = own.has(verb)
    ? undefined
    : commandFor(vocabulary, verb, given.words[1]);
  const appliance = applianceFor(client, vocabulary, typeof context === 'string' ? context : undefined);
  const calling = { appliance, terminal, given };
  if (known !== undefined) return runCommand(calling, known.resource, known.command);
  if (verb === 'edit') return (await import('./edit.ts')).edit(calling);
  if (verb === 'events') return followEvents(calling);
  if (verb === 'jobs') return showJob(calling, given.words[1] ?? '');
  if (verb === 'revert') return revert(calling);
  if (verb === 'confirm') return confirm(calling);
  if (verb === 'export' || verb === 'adopt' || verb === 'diff' || verb === 'apply') {
    const { adoptFile, applyFile, diffFile, exportFile } = await import('./files.ts');
    if (verb === 'adopt') return adoptFile(calling);
    return verb === 'export' ? exportFile(calling) : verb === 'diff' ? diffFile(calling) : applyFile(calling);
  }
  if (verb === 'migrate') return (await import('./migrate.ts')).migrate(calling);
  return callApi(calling);
}

const own: ReadonlySet<string> = new Set([
  ...['events', 'jobs', 'revert', 'confirm', 'api', 'edit', 'export', 'adopt', 'diff', 'apply', 'migrate'],
]);

async function examine(client: Client, vocabulary: Vocabulary, { options }: Given): Promise<Exit> {
  const { doctor } = await import('./doctor.ts');
  const { terminal, socket, settings, version } = client;
  const option = options.get('context');
  const name = contextOf(terminal, typeof option === 'string' ? option : undefined);
  return doctor({
    ...{ vocabulary, terminal, output: options.get('output') },
    // Without the daemon there is no socket: that is what the doctor reports.
    connection: name === 'local' ? localConnection(readable(socket)) : connectionFor(client, name),
    here: name === 'local' ? { settings, version: version() } : undefined,
  });
}

/** With invalid settings, the socket is unknown, and the daemon is not reached. */
function readable(socket: () => string): string {
  try {
    return socket();
  } catch {
    return '/run/holdfast/holdfast.socket';
  }
}

/** `-f` is an option of these commands only: fields of resources are called file too. */
function withLongFile(argv: readonly string[]): readonly string[] {
  return argv.map((word) => (word === '-f' ? '--file' : word));
}

function fieldsFor(vocabulary: Vocabulary, words: readonly string[]): readonly FieldWords[] {
  const [verb = '', word = ''] = words;
  const extra = extraFields[verb];
  if (extra !== undefined) return extra;
  const resource = resourceNamed(vocabulary, word);
  const command = resource?.commands.find((one) => one.verb === (verb === 'get' ? 'show' : verb));
  return resource === undefined || command === undefined ? [] : fieldsOf(resource, command);
}

/** The appliance of a context; without one the chosen one, and this machine if none was chosen. */
function applianceFor(client: Client, vocabulary: Vocabulary, named: string | undefined): Appliance {
  return new Appliance(vocabulary, connectionFor(client, named), client.terminal);
}

function connectionFor({ terminal, socket }: Client, named: string | undefined): Connection {
  const name = contextOf(terminal, named);
  if (name !== 'local') {
    const remote = readContexts(terminal.environment).contexts[name];
    if (remote === undefined)
      throw new CommandError(exits.notFound, `There is no context "${name}". See: holdfast context list`);
    return remoteConnection(name, remote);
  }
  const path = socketOf(socket);
  if (existsSync(path)) return localConnection(path);
  throw new CommandError(
    exits.unreachable,
    `The daemon does not run on this machine: ${path} is missing. Start it with: systemctl start holdfast; or add another appliance with: holdfast context add.`,
  );
}

function contextOf({ environment }: Terminal, named: string | undefined): string {
  return named ?? environment['HOLDFAST_CONTEXT'] ?? readContexts(environment).current ?? 'local';
}

function socketOf(socket: () => string): string {
  try {
    return socket();
  } catch (error) {
    throw usage(messageOf(error));
  }
}
