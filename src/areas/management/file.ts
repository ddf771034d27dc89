import { type Access, Forbidden } from '../../engine/declare/access.ts';
import { conflict, invalid } from '../../engine/declare/errors.ts';
import {
  choice,
  field,
  flag,
  freeObject,
  good,
  list,
  optional,
  required,
  text,
  wrong,
} from '../../engine/declare/fields.ts';
import { Negotiated, type OperationCall, operation, section } from '../../engine/declare/operation.ts';
import { anyObject, choiceOf, integerOf, listOf, objectOf, orNull, stringOf } from '../../engine/declare/schema.ts';
import { titlesOf } from '../../engine/plan/dry-run.ts';
import { isObject } from '../../lib/json.ts';
import { collected, inSlices } from '../../lib/slices.ts';
import { quote } from '../../lib/text.ts';
import { Application, pendingTakes, prunedOf, refuseProblems, unknownNames, unknownTakes } from '../file/apply.ts';
import { comparisonOf, type Difference, shownDifference } from '../file/differences.ts';
import { documentOf } from '../file/document.ts';
import { type Kind, kindsOf } from '../file/kinds.ts';
import { schemaOf } from '../file/schema.ts';
import { currentSource, freshSource, State } from '../file/state.ts';
import { type SentFile, sentencesOf, type Wanted, wantedOf } from '../file/wanted.ts';
import { writtenYaml } from '../file/yaml.ts';

const mostFiles = 1000;

const sentFile = field<SentFile>({
  description: 'One file.',
  schema: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'Its name, for messages.' },
      text: { type: 'string', description: 'Its content: YAML or JSON.' },
    },
    required: ['name', 'text'],
  },
  read(sent) {
    const { name, text } = isObject(sent) ? sent : {};
    return typeof name === 'string' && name !== '' && name.length <= 255 && typeof text === 'string'
      ? good({ name, text })
      : wrong(`Expected an object with name and text, got ${quote(sent)}.`);
  },
});

const body = {
  files: required(list(sentFile, { description: 'The files, which are merged.', max: mostFiles })),
  name: text({ description: 'Name by which what they make is remembered; by default that of the first file.' }),
  secrets: freeObject({
    description: 'Values that the files refer to: {file: anna} is file:anna here, {env: ANNA} is env:ANNA.',
    maxBytes: 1_048_576,
  }),
  prune: flag(false, {
    description:
      'Whether to remove the records that an apply under this name made, and the files do not have any more.',
  }),
};

const difference = objectOf('FileDifference', {
  kind: stringOf('What it is, such as share/smb.'),
  name: stringOf('Name of the record; empty for settings.'),
  what: choiceOf(['create', 'change', 'remove'], 'What would be done or was done to it.'),
  file: stringOf('The file that asks for it.'),
  line: integerOf('The line of it; 0 for a record that is pruned.'),
  fields: listOf(
    objectOf('FileFieldDifference', {
      name: stringOf('Name of the field.'),
      before: { description: 'Its value; null for a new record. Secrets are masked.' },
      after: { description: 'Its value in the file. Secrets are masked.' },
    }),
    'The fields that differ.',
  ),
});

const example = {
  files: [{ name: 'site.yaml', text: 'holdfast: 1\nnetwork:\n  domain: example.com\n' }],
};

export const file = section('file', 'The configuration as one file.', [
  operation({
    method: 'GET',
    path: 'file',
    name: 'exportFile',
    title: 'Returns the configuration by names, without ids and defaults; as YAML with Accept: application/yaml.',
    query: {
      full: flag(false, { description: 'Whether values are included that are as on a new system.' }),
      secrets: choice(['keep', 'sealed'], {
        description: 'What stands for secrets: { keep: true }, or text that only this appliance can decrypt.',
        initial: 'keep',
      }),
    },
    answer: anyObject('Each kind, such as share/smb, with its records by their names.'),
    example: { query: { full: 'true' } },
    async run(call) {
      const { query, context, fileSecrets } = call;
      const { access } = context;
      if (query.secrets === 'sealed' && access?.readsSecrets === false)
        throw new Forbidden('Sealed secrets require the right to read secrets.');
      const kinds = kindsOf(call.engine.resources).filter((kind) => mayRead(access, kind));
      const exporting = documentOf({
        ...{ kinds, ...statesOf(call), full: query.full, hidesRaw: access?.readsSecrets === false },
        secret: (purpose, value) =>
          query.secrets === 'sealed' ? { sealed: fileSecrets.seal(purpose, value) } : { keep: true },
      });
      const document = await inSlices(exporting);
      return new Negotiated(document, { 'application/yaml': () => writtenYaml(document) });
    },
  }),
  operation({
    method: 'POST',
    path: 'file/diff',
    name: 'diffFile',
    title: 'Compares files with the configuration, and returns a token with which apply carries out just this.',
    body,
    answer: objectOf('FileDiff', {
      token: stringOf('For apply, which refuses it when the configuration or the files have changed.'),
      takes_over: listOf(stringOf('Name of a subsystem.'), 'Subsystems that Holdfast would manage from then on.'),
      changes: listOf(difference, 'What apply would do.'),
    }),
    example: { body: example },
    async run(call) {
      const token = tokenOf(call);
      const { takes, differences } = await compared(call);
      return { token, takes_over: takes, changes: await shownTo(call, differences) };
    },
  }),
  operation({
    method: 'POST',
    path: 'file/apply',
    name: 'applyFile',
    title:
      'Makes the configuration as the files say, as one change and one revision, and installs plugins after it. What they do not have stays.',
    query: { plan: flag(false, { description: 'Whether to answer only what it would do to the machine.' }) },
    body: { ...body, token: optional(text({ description: 'The token of a diff, to apply just what it showed.' })) },
    answer: {
      anyOf: [
        objectOf('AppliedFile', {
          revision: orNull(integerOf('Number of the revision; null if nothing differed.')),
          takes_over: listOf(stringOf('Name of a subsystem.'), 'Subsystems that Holdfast manages from now on.'),
          changes: listOf(difference, 'What was done.'),
          not_installed: listOf(
            stringOf('File, line and the reason.'),
            'Plugins that could not be installed after the change. To apply the files again tries it again.',
          ),
        }),
        listOf(stringOf('One step, such as write /etc/samba/smb.conf.')),
      ],
    },
    example: { body: example },
    async run(call) {
      const { query, body: sent, context, plan, engine, operations } = call;
      if (query.plan)
        return titlesOf(
          await plan({ method: 'POST', path: 'api/holdfast/v1/file/apply', body: { ...sent, token: null } }, context),
        );
      refuseOld(call, sent.token);
      const { wanted, takes, differences } = await compared(call);
      if (differences.length + takes.length === 0)
        return { revision: null, takes_over: [], changes: [], not_installed: [] };
      // The comments of an adopted file ask to remove accounts and devices right before, which facts may not have yet.
      const concerns = (prefix: string) => differences.some(({ kind }) => kind.resource.path.startsWith(prefix));
      if (concerns('account/')) await engine.renew('accounts');
      if (concerns('network/')) await engine.renew('network');
      const applying = { kinds: kindsOf(engine.resources), wanted, name: nameOf(call), prune: sent.prune };
      let application: Application | undefined;
      try {
        await operations.together(`apply the file ${applying.name}`, async (attempt) => {
          refuseOld(call, sent.token);
          application = new Application(call, applying, attempt);
          await application.run();
        });
      } catch (error) {
        throw application?.explained(error) ?? error;
      }
      const changed = engine.revisionOf(context.request)?.number;
      const failures = (await application?.install(operations)) ?? [];
      const isDone = ({ kind, key }: Difference) =>
        !failures.some((one) => one.difference.kind === kind && one.difference.key === key);
      return {
        // Of a file that only installs plugins, it is that of a plugin.
        revision: changed ?? engine.revisionOf(context.request)?.number ?? null,
        takes_over: takes,
        changes: await shownTo(call, differences.filter(isDone)),
        not_installed: sentencesOf(failures.flatMap(({ problems }) => problems)),
      };
    },
  }),
  operation({
    method: 'GET',
    path: 'file/schema',
    name: 'getFileSchema',
    title: 'Returns the JSON Schema of the file, for editors.',
    answer: anyObject('A JSON Schema.'),
    run: ({ engine }) => schemaOf(kindsOf(engine.resources)),
  }),
]);

/** The differences as an answer has them. Who may not read secrets does not see the lines for programs either. */
function shownTo({ context: { access } }: Pick<OperationCall, 'context'>, differences: readonly Difference[]) {
  return collected(shownOf(differences, access?.readsSecrets === false));
}

function* shownOf(differences: readonly Difference[], hidesRaw: boolean) {
  for (const one of differences) yield shownDifference(one, hidesRaw);
}

type Call = Pick<OperationCall, 'engine' | 'context' | 'fileSecrets' | 'operations' | 'subsystems'> & {
  readonly body: {
    readonly files: readonly SentFile[];
    readonly name: string;
    readonly secrets: Readonly<Record<string, unknown>>;
    readonly prune: boolean;
  };
};

function statesOf({ engine }: Pick<Call, 'engine'>) {
  const kinds = kindsOf(engine.resources);
  return {
    state: new State(kinds, currentSource(engine.world, kinds)),
    fresh: new State(kinds, freshSource(engine.freshConfiguration)),
  };
}

const nameOf = ({ body: { name, files } }: Pick<Call, 'body'>) => name || (files[0]?.name ?? '');

/**
 * Kinds of which the principal may not know whether a secret is as the file says. To know it of a password would be to
 * guess it, as often as one likes. Who may set it needs no guess.
 */
function guarded(access: Access | undefined, kinds: readonly Kind[]): ReadonlySet<Kind> {
  if (access?.readsSecrets !== false) return new Set();
  const act = (path: string) => ({ resource: path, declared: path, verb: 'update', reads: false });
  const rest = { record: undefined, fields: undefined, before: undefined };
  return new Set(kinds.filter(({ resource }) => access.problem({ ...act(resource.path), ...rest }) !== undefined));
}

/** What the files ask for, and how the configuration differs from it. Throws every problem of the files at once. */
async function compared(call: Call): Promise<{
  readonly wanted: Wanted;
  readonly takes: readonly string[];
  readonly differences: readonly Difference[];
}> {
  const { engine, context, fileSecrets, body: sent, operations, subsystems } = call;
  if (sent.files.length === 0) throw invalid({ files: ['Expected at least one file.'] });
  const kinds = kindsOf(engine.resources);
  const { state, fresh } = statesOf(call);
  const read = await wantedOf(sent.files, { kinds, fresh, secrets: sent.secrets, opened: fileSecrets.open });
  const hidden = [...read.records.keys()].find((kind) => !mayRead(context.access, kind));
  if (hidden !== undefined) throw new Forbidden(`Comparing a file requires the right to read ${hidden.name}.`);
  const unknown = guarded(context.access, kinds);
  const wanted = await withoutSamePasswords(read, state, operations, unknown);
  const { differences, problems } = await comparisonOf(kinds, wanted, state, { guarded: unknown });
  refuseProblems([
    ...wanted.problems,
    ...problems,
    ...(await inSlices(unknownNames(wanted, state))),
    ...unknownTakes(wanted, subsystems),
  ]);
  const takes = pendingTakes(wanted, engine.world).map(({ subsystem }) => subsystem);
  const pruned = sent.prune ? prunedOf({ kinds, wanted, name: nameOf(call), prune: true }, engine.world) : [];
  return { wanted, takes, differences: [...differences, ...pruned] };
}

/** A password that a user has already is no difference. Only its hash can say that. */
async function withoutSamePasswords(
  wanted: Wanted,
  state: State,
  operations: Call['operations'],
  unknown: ReadonlySet<Kind>,
): Promise<Wanted> {
  const records = new Map(wanted.records);
  for (const [kind, all] of records) {
    if (unknown.has(kind) || !kind.fields.some(({ hashes }) => hashes !== undefined)) continue;
    const settled = new Map(all);
    for (const [key, record] of all)
      for (const value of record.values) {
        const now = state.find(kind, key)?.values[value.field.wire];
        if (value.field.hashes === undefined || value.isHashed || value.isKept || !Array.isArray(now)) continue;
        if (await operations.verifyPassword(String(value.value), String(now[0])))
          settled.set(key, { ...record, values: record.values.filter((one) => one !== value) });
      }
    records.set(kind, settled);
  }
  return { ...wanted, records };
}

/** Which configuration was compared with which files. */
function tokenOf({ engine, body: { files, secrets, prune } }: Pick<Call, 'engine' | 'body'>): string {
  const revision = engine.revisions(1)[0]?.number ?? 0;
  return `${revision}-${engine.retries.digest(JSON.stringify([files, secrets, prune]))}`;
}

function refuseOld(call: Pick<Call, 'engine' | 'body'>, token: string | undefined): void {
  const now = tokenOf(call);
  if (token === undefined || token === '' || token === now) return;
  const [[before = '', ...digest], [after = '', ...other]] = [token.split('-'), now.split('-')];
  throw conflict(
    digest.join('-') === other.join('-')
      ? `The configuration has changed since the diff: it was at revision ${quote(before)} and is at ${after}. Compare again.`
      : 'The token is of other files or another appliance. Compare these files again.',
  );
}

/** The name of a task is its command, which is no more for everyone than a secret. */
function mayRead(access: Access | undefined, { resource, fields, keyFields }: Kind): boolean {
  const isNamedByRaw = fields.some(({ field, wire }) => field.raw === true && keyFields.includes(wire));
  if (isNamedByRaw && access?.readsSecrets === false) return false;
  const act = { ...{ resource: resource.path, declared: resource.path, verb: 'read', reads: true } };
  return access?.problem({ ...act, record: undefined, fields: undefined, before: undefined }) === undefined;
}
