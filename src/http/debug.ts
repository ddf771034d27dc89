import { gzipSync } from 'node:zlib';
import type { Engine, RequestContext } from '../engine/engine.ts';
import { isKeptResource } from '../engine/engine.ts';
import { isObject } from '../lib/json.ts';
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
  const clean = new Map([...files].map(([name, text]) => [name, without(text, secrets)]));
  return gzipSync(tar(clean, Math.floor(now / 1000)));
}

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

/**
 * Removes the secrets from a text, the longest first, because one may contain another. JSON has them in escaped form.
 */
function without(text: string, secrets: ReadonlySet<string>): string {
  const forms = [...secrets].flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]);
  return forms
    .toSorted((a, b) => b.length - a.length)
    .reduce((clean, secret) => clean.replaceAll(secret, removed), text);
}

function shown(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
