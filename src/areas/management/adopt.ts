import { Forbidden } from '../../engine/declare/access.ts';
import { type OperationCall, operation, section } from '../../engine/declare/operation.ts';
import type { Adoption, Findings, NotCarried, ProposedRecord } from '../../engine/declare/proposal.ts';
import { integerOf, listOf, objectOf, stringOf } from '../../engine/declare/schema.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { isOwnPath } from '../../engine/plan/originals.ts';
import { unmanagedSubsystem } from '../../engine/upkeep/takeover.ts';
import type { Host } from '../../host/ports/index.ts';
import { type Kind, kindsOf } from '../file/kinds.ts';
import { proposalText } from '../file/proposal.ts';
import { proposedFrom } from '../file/proposed.ts';
import { freshSource, State } from '../file/state.ts';

export const adopt = section('adopt', 'What other programs are configured for, as a proposed configuration.', [
  operation({
    method: 'GET',
    path: 'adopt',
    name: 'proposeAdoption',
    title: 'Reads what was configured by hand and returns it as a file for apply, with what could not be carried.',
    answer: objectOf('ProposedFile', {
      file: stringOf('The file, as YAML with comments.'),
      records: integerOf('How many records it has.'),
      takes_over: listOf(stringOf('Name of a subsystem.'), 'Subsystems that applying it takes over.'),
      not_carried: listOf(
        objectOf('NotCarried', {
          file: stringOf('Where it was read.'),
          line: integerOf('The line; 0 if there is none.'),
          text: stringOf('What stands there.'),
          reason: stringOf('Why the file does not have it as it was.'),
          to_do: stringOf('What to do about it.'),
        }),
        'What the file does not have as it was.',
      ),
    }),
    run: (call) => propose(call),
  }),
]);

async function propose({ engine, subsystems, operations, context, fileSecrets }: OperationCall) {
  // The file has the hashes of passwords, and lines for programs in which people write passwords.
  if (context.access?.readsSecrets === false)
    throw new Forbidden('Reading the configuration of other programs requires the right to read secrets.');
  const { view, facts } = engine.world;
  const unmanaged = new Set(view.all(unmanagedSubsystem).map(({ subsystem }) => subsystem));
  const read: { readonly subsystem: Subsystem; readonly records: readonly ProposedRecord[] }[] = [];
  const notCarried: NotCarried[] = [];
  for (const subsystem of subsystems) {
    const { adopts: adoption, name } = subsystem;
    if (adoption === undefined) {
      if (unmanaged.has(name)) notCarried.push(unread(subsystem));
      continue;
    }
    if (!unmanaged.has(name) && adoption.isBeside !== true) continue;
    const found = await operations.ask(`read the configuration of ${name}`, (host) => findingsOf(adoption, host));
    const reading = adoption.read({ ...found, facts, view });
    read.push({ subsystem, records: reading.records });
    notCarried.push(...reading.notCarried);
  }
  const takesOver = read
    .map(({ subsystem }) => subsystem.name)
    .filter((name) => unmanaged.has(name))
    .toSorted();
  const kinds = kindsOf(engine.resources);
  const proposed = proposedFrom(
    kinds,
    read.flatMap(({ records }) => records),
  );
  const all = [...notCarried, ...proposed.notCarried];
  const text = await proposalText(
    {
      ...{ kinds, records: proposed.records, head: headOf(takesOver) },
      remarks: [...proposed.origins, ...all.map((one) => remarkOn(one, proposed.keyAt))],
    },
    {
      fresh: new State(kinds, freshSource(engine.freshConfiguration)),
      secret: (purpose, value) => ({ sealed: fileSecrets.seal(purpose, value) }),
    },
  );
  return {
    file: withTakeOver(text, takesOver),
    records: [...proposed.records.values()].reduce((sum, { size }) => sum + size, 0),
    takes_over: takesOver,
    not_carried: all.map(({ file, line, text: found, reason, toDo }) => ({
      ...{ file, line, text: found, reason, to_do: toDo },
    })),
  };
}

const headOf = (takesOver: readonly string[]) => [
  'Proposed by holdfast adopt. Nothing was changed. Read the comments, then: holdfast apply -f FILE --plan',
  ...(takesOver.length === 0 ? [] : ['Applying it lets Holdfast manage the subsystems under take_over.']),
];

/** The subsystems come after the version of the format. */
function withTakeOver(text: string, subsystems: readonly string[]): string {
  if (subsystems.length === 0) return text;
  return text.replace(/^holdfast: \d+$/m, (version) => `${version}\ntake_over: [ ${subsystems.join(', ')} ]`);
}

function remarkOn(
  one: NotCarried,
  keyAt: (origin: NotCarried) => { readonly kind: Kind; readonly key: string } | undefined,
) {
  const place = one.line > 0 ? `${one.file}:${one.line}` : one.file;
  const { kind, key } = keyAt(one) ?? { kind: undefined, key: '' };
  return { kind, key, text: `NOT CARRIED ${place}: ${one.text} — ${one.reason} ${one.toDo}` };
}

/** A subsystem that was configured by hand and that is only described. */
const unread = ({ name, description }: Subsystem): NotCarried => ({
  ...{ file: `subsystem ${name}`, line: 0, text: description },
  reason: 'Its configuration was made by hand, and is not read.',
  toDo: `See holdfast api GET found. Configure it in Holdfast, then take it over: POST /api/holdfast/v1/found/${name}/take.`,
});

/** Most bytes of a file that is read. */
const mostBytes = 4_194_304;

async function findingsOf(
  { files: paths, also, programs = [], onlyLocal = false }: Adoption,
  { files, commands, packages }: Host,
): Promise<Pick<Findings, 'files' | 'outputs'>> {
  const found = new Map<string, string>();
  const read = async (path: string) => {
    if (found.has(path) || isOwnPath(path) || (await files.kind(path)) !== 'file') return;
    if (((await files.size(path)) ?? 0) > mostBytes) return;
    const content = await files.read(path);
    if (content !== undefined) found.set(path, content);
  };
  for (const path of paths)
    for (const one of path.endsWith('*') ? await files.beginning(path.slice(0, -1)) : [path]) await read(one);
  // What an included file includes is read too. A few rounds are enough for people.
  for (let round = 0; round < 8; round += 1) {
    const more = (also?.(found) ?? []).filter((path) => !found.has(path));
    if (more.length === 0) break;
    for (const path of more) await read(path);
  }
  if (onlyLocal)
    for (const [path, origin] of await packages.origins([...found.keys()])) if (origin !== 'local') found.delete(path);
  const outputs = new Map<string, string>();
  for (const argv of programs) {
    const outcome = await commands.check(argv).catch(() => undefined);
    if (outcome?.status === 0 && outcome.stdout !== '') outputs.set(argv[0] ?? '', outcome.stdout);
  }
  return { files: found, outputs };
}
