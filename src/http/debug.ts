import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Engine, RequestContext } from '../engine/engine.ts';
import { isKeptResource } from '../engine/engine.ts';
import { isObject } from '../lib/json.ts';
import { inSlices } from '../lib/slices.ts';
import { tar } from '../lib/tar.ts';
import { messageOf } from '../lib/text.ts';

/** Programs whose output describes the machine's state. None of them changes anything. */
const programs: Readonly<Record<string, readonly string[]>> = {
  'zpool-status': ['zpool', 'status', '-v'],
  'zfs-list': ['zfs', 'list', '-t', 'all'],
  lsblk: ['lsblk', '--output-all'],
  addresses: ['ip', 'address'],
  routes: ['ip', 'route'],
  subsystems: ['systemctl', '--no-pager', '--failed'],
  journal: ['journalctl', '--no-pager', '--lines=2000'],
  memory: ['free', '--human'],
  space: ['df', '--human-readable'],
  kernel: ['uname', '--all'],
};

/** The longest run of a program, in milliseconds. */
const timeLimit = 20_000;

/** Shorter secrets are not searched for in texts: they would match by chance. */
const shortest = 4;

/** The same for raw lines, of which short ones such as `true` are common words. */
const shortestRaw = 8;

/** Replaces a secret in the archive. */
const removed = '(removed)';

/** A gzipped tar archive for troubleshooting. The secrets and raw lines of the configuration are removed from its files. */
export async function debugArchive(engine: Engine, context: RequestContext, now: number): Promise<Buffer> {
  const kept = engine.resources.filter(isKeptResource);
  const secrets = new Set<string>();
  const configuration: Record<string, unknown> = {};
  for (const resource of kept) {
    configuration[resource.path] = engine
      .table(resource)
      .all()
      .map((record) =>
        Object.fromEntries(
          Object.entries(record).map(([name, value]) => {
            const field = resource.fields[name];
            if (field?.secret !== true && field?.raw !== true) return [name, value];
            for (const text of textsIn(value, field.secret ? shortest : shortestRaw)) secrets.add(text);
            return [name, value === null || value === '' ? value : removed];
          }),
        ),
      );
  }
  const rawNames = new Set(
    kept.flatMap(({ fields }) => Object.entries(fields).flatMap(([name, { raw }]) => (raw === true ? [name] : []))),
  );
  const revisions = engine
    .revisions(200)
    .map((one) => ({ ...one, changes: one.changes.map((change) => withoutRaw(change, rawNames)) }));
  const files = new Map<string, string>([
    ['configuration.json', shown(configuration)],
    ['revisions.json', shown(revisions)],
    ['jobs.json', shown(engine.jobs.list(200))],
    ['events.json', shown(engine.events.since(0))],
    ['problems.json', shown(engine.problems)],
    ['drift.json', shown(await engine.report())],
  ]);
  for (const [name, argv] of Object.entries(programs))
    files.set(`machine/${name}.txt`, await outputOf(engine, context, argv));
  const forms = formsOf(secrets);
  const clean = new Map<string, string>();
  for (const [name, text] of files) clean.set(name, await inSlices(without(text, forms)));
  return compressed(tar(clean, Math.floor(now / 1000)));
}

/** In a thread of its own: a long journal takes more than 100 ms. */
const compressed = (archive: Buffer) => promisify<Buffer, Buffer>(gzip)(archive);

/** A change of a revision without raw lines. Revisions mask secrets only, and have lines that were replaced since. */
function withoutRaw(change: unknown, rawNames: ReadonlySet<string>): unknown {
  if (!isObject(change)) return change;
  const cut = (record: unknown) =>
    isObject(record)
      ? Object.fromEntries(
          Object.entries(record).map(([name, value]) => [name, rawNames.has(name) && value !== '' ? removed : value]),
        )
      : record;
  return { ...change, before: cut(change['before']), after: cut(change['after']) };
}

async function outputOf(engine: Engine, context: RequestContext, argv: readonly string[]): Promise<string> {
  const output: string[] = [];
  try {
    await engine.operations(context).ask(`run ${argv[0]} for a debug archive`, async ({ commands }) => {
      const { stdout, stderr } = await commands.runProgram({
        user: 'root',
        argv,
        signal: AbortSignal.timeout(timeLimit),
        keep: 1024 ** 2,
        timeout: timeLimit,
      });
      output.push(stdout, stderr);
    });
  } catch (error) {
    output.push(messageOf(error));
  }
  return output.join('');
}

/** The texts to search for: the whole secret, and each line of a multi-line secret, because logs show single lines. */
function textsIn(value: unknown, least: number): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((member) => textsIn(member, least));
  if (typeof value !== 'string') return [];
  const lines = value.includes('\n') ? value.split('\n').filter((line) => !line.startsWith('-----')) : [];
  return [value, ...lines].filter((text) => text.trim().length >= least);
}

/** What to search for, the longest first, because one secret may contain another. JSON has them in escaped form. */
function formsOf(secrets: ReadonlySet<string>): readonly string[] {
  const forms = [...secrets].flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]);
  return [...new Set(forms)].toSorted((a, b) => b.length - a.length);
}

/** The text after the removal of each secret. There may be a thousand raw lines to remove from megabytes. */
function* without(text: string, forms: readonly string[]): Generator<undefined, string> {
  let clean = text;
  for (const form of forms) {
    clean = clean.replaceAll(form, removed);
    yield;
  }
  return clean;
}

function shown(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
