/**
 * Remembers which files on machines passed, and with which inputs: the contents of every file of the project except
 * other tests. A machine's tests take longer than all others, and two to three times as long on a busy computer, so a run
 * with a limit of time may be unable to run all of them. A file for which there was no time counts as passed when it
 * passed in an earlier run of this user, in any clone, with the same inputs.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Job } from './schedule.ts';
import { root } from './tiers.ts';

/** Milliseconds for which a pass counts. Debian's packages in the machine may have changed after that. */
const lasting = 24 * 3600 * 1000;

const defaultFolder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'holdfast', 'passed');

/** Files that no test on a machine reads: other tests, and how long they took. */
const isOther = (path: string) => path.endsWith('.test.ts') || path === 'test/durations.json';

export interface Passes {
  /** When the file last passed with the present inputs; undefined when it did not, or too long ago. */
  when(job: Job): Date | undefined;
  /** Notes that a file passed. Does nothing when its inputs changed since the object was made. */
  note(job: Job): void;
}

/** The passes of files of a project, a folder in git, noted in another folder as empty files, named by the inputs. */
export function passesOf(project = root, folder = defaultFolder): Passes {
  const shared = digestOf(project);
  const nameOf = (job: Job, common: string) =>
    createHash('sha256')
      .update(`${common} ${job.name} `)
      .update(contentOf(join(project, job.name)))
      .digest('hex');
  const names = new Map<string, string>();
  const known = (job: Job) => {
    const name = names.get(job.name) ?? nameOf(job, shared);
    names.set(job.name, name);
    return join(folder, name);
  };
  return {
    when: (job) => {
      const { mtime } = statSync(known(job), { throwIfNoEntry: false }) ?? {};
      return mtime !== undefined && Date.now() - mtime.getTime() < lasting ? mtime : undefined;
    },
    note: (job) => {
      const path = known(job);
      if (join(folder, nameOf(job, digestOf(project))) !== path) return;
      mkdirSync(folder, { recursive: true });
      writeFileSync(path, '');
    },
  };
}

/** A digest of the project's files that git tracks or would track, except the tests. */
function digestOf(project: string): string {
  const { status, stdout } = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: project,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 ** 2,
  });
  // Without git nothing is known about the inputs, so no pass may count.
  if (status !== 0) return `unknown ${process.pid} ${Date.now()} ${Math.random()}`;
  const hash = createHash('sha256');
  for (const path of stdout.split('\0').toSorted())
    if (path !== '' && !isOther(path)) hash.update(`${path}\0`).update(contentOf(join(project, path)));
  return hash.digest('hex');
}

function contentOf(path: string): string {
  const content = statSync(path, { throwIfNoEntry: false })?.isFile() === true ? readFileSync(path) : '';
  return createHash('sha256').update(content).digest('hex');
}
