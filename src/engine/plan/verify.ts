import { isDeepStrictEqual } from 'node:util';
import { type Host, HostError } from '../../host/ports/index.ts';
import { failed } from '../declare/errors.ts';
import type { Checker, Desired, DesiredCheck } from '../declare/subsystem.ts';

/** Lets what is new be read by the program it is for. Nothing that the machine uses is touched. */
export async function verify(host: Host, desired: Desired, applied: Desired | undefined): Promise<void> {
  const files = new Map(applied?.files?.map((file) => [file.path, file]));
  for (const { path, content, verify: checker } of desired.files ?? []) {
    if (checker === undefined || content === undefined || files.get(path)?.content === content) continue;
    await ask(host, path, content, checker);
  }
  const checks = new Map(applied?.checks?.map((check) => [check.path, check]));
  for (const check of desired.checks ?? []) {
    const content = unseen(check, checks.get(check.path));
    if (content !== undefined) await ask(host, check.path, content, check.verify);
  }
  if (desired.targets !== undefined && !isDeepStrictEqual(desired.targets, applied?.targets)) {
    const objections = await host.targets.objections(desired.targets);
    if (objections.length > 0) throw failed(objections.join(' '));
  }
}

async function ask(host: Host, path: string, content: string, checker: Checker): Promise<void> {
  const staged = await host.files.stage(path, content);
  try {
    const objection = checker.objection(await host.commands.check(checker.argv(staged)));
    if (objection !== undefined) throw failed(objection.replaceAll(staged, path));
  } finally {
    await discard(host, staged);
  }
}

/** A staged file that cannot be discarded is litter, not a reason to refuse a change; one more try, then it stays. */
async function discard(host: Host, staged: string): Promise<void> {
  try {
    await host.files.discard(staged);
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    await host.files.discard(staged);
  }
}

/** The head with those parts that were not checked under it before; undefined when all was seen. */
function unseen({ head, parts }: DesiredCheck, before: DesiredCheck | undefined): string | undefined {
  if (before === undefined || before.head !== head) return [head, ...parts.flat()].join('');
  const seenGroups = new Set(before.parts);
  const newGroups = parts.filter((group) => !seenGroups.has(group));
  if (newGroups.length === 0) return undefined;
  const current = new Set(parts);
  const seen = new Set(before.parts.filter((group) => !current.has(group)).flat());
  const fresh = newGroups.flat().filter((part) => !seen.has(part));
  return fresh.length === 0 ? undefined : [head, ...fresh].join('');
}

/** A file of the machine that the program that reads it does not accept. */
export interface RefusedFile {
  readonly path: string;
  /** What the program says, which may quote the file; undefined for a file that only root may read. */
  readonly objection: string | undefined;
  /** The command that checks it. */
  readonly argv: readonly string[];
}

/** Lets the files that are on the machine be read by the programs they are for. Files that are missing are left out. */
export async function refusedFiles(host: Host, { files = [], checks = [] }: Desired): Promise<readonly RefusedFile[]> {
  const read = [
    ...files.flatMap(({ path, content, verify: checker, mode = 0o644 }) =>
      checker === undefined || content === undefined ? [] : [{ path, checker, isPublic: (mode & 0o004) !== 0 }],
    ),
    ...checks.map(({ path, verify: checker }) => ({ path, checker, isPublic: true })),
  ];
  const found: RefusedFile[] = [];
  for (const { path, checker, isPublic } of read) {
    if ((await host.files.kind(path)) !== 'file') continue;
    const argv = checker.argv(path);
    const objection = checker.objection(await host.commands.check(argv));
    if (objection !== undefined) found.push({ path, objection: isPublic ? objection : undefined, argv });
  }
  return found;
}
