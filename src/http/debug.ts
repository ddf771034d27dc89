import { gzipSync } from 'node:zlib';
import type { Engine, RequestContext } from '../engine/engine.ts';
import { isKeptResource } from '../engine/engine.ts';
import { tar } from '../lib/tar.ts';
import { messageOf } from '../lib/text.ts';

/** Programs that tell how the machine is. Each only looks. */
const questions: Readonly<Record<string, readonly string[]>> = {
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

/** Milliseconds. */
const patience = 20_000;

/** Texts that are shorter are no secrets that one could find in a text. */
const shortest = 4;

/** What stands for a secret in the archive. */
const removed = '(removed)';

/** A compressed archive of all that helps to find a fault. Whatever is secret in the configuration is taken out of every text. */
export async function debugArchive(engine: Engine, context: RequestContext, now: number): Promise<Buffer> {
  const kept = engine.resources.filter(isKeptResource);
  const secrets = new Set<string>();
  const configuration: Record<string, unknown> = {};
  for (const resource of kept) {
    const hidden = Object.entries(resource.fields)
      .filter(([, field]) => field.secret)
      .map(([name]) => name);
    configuration[resource.path] = engine
      .table(resource)
      .all()
      .map((record) =>
        Object.fromEntries(
          Object.entries(record).map(([name, value]) => {
            if (!hidden.includes(name)) return [name, value];
            for (const text of textsIn(value)) secrets.add(text);
            return [name, value === null || value === '' ? value : removed];
          }),
        ),
      );
  }
  const files = new Map<string, string>([
    ['configuration.json', shown(configuration)],
    ['revisions.json', shown(engine.revisions(200))],
    ['jobs.json', shown(engine.jobs.list(200))],
    ['events.json', shown(engine.events.since(0))],
    ['health.json', shown(engine.health)],
    ['drift.json', shown(await engine.report())],
  ]);
  for (const [name, argv] of Object.entries(questions))
    files.set(`machine/${name}.txt`, await asked(engine, context, argv));
  const clean = new Map([...files].map(([name, text]) => [name, without(text, secrets)]));
  return gzipSync(tar(clean, Math.floor(now / 1000)));
}

async function asked(engine: Engine, context: RequestContext, argv: readonly string[]): Promise<string> {
  const said: string[] = [];
  try {
    await engine.operations(context).perform({
      title: `ask ${argv[0]}`,
      async perform({ commands }) {
        const { stdout, stderr } = await commands.runProgram({
          user: 'root',
          argv,
          signal: AbortSignal.timeout(patience),
          keep: 1024 ** 2,
          timeout: patience,
        });
        said.push(stdout, stderr);
      },
    });
  } catch (error) {
    said.push(messageOf(error));
  }
  return said.join('');
}

/** A secret as it is, and each line of one that has several: a log shows lines. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value !== 'string') return [];
  const lines = value.includes('\n') ? value.split('\n').filter((line) => !line.startsWith('-----')) : [];
  return [value, ...lines].filter((text) => text.trim().length >= shortest);
}

/** The longest first, for one secret may hold another. In JSON a text stands with its escapes. */
function without(text: string, secrets: ReadonlySet<string>): string {
  const spelt = [...secrets].flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]);
  return spelt
    .toSorted((a, b) => b.length - a.length)
    .reduce((clean, secret) => clean.replaceAll(secret, removed), text);
}

function shown(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
