import type { Commands, Outcome, UserCommand } from '../ports/commands.ts';
import { HostError } from '../ports/index.ts';
import { readUsers } from './accounts-read.ts';
import type { Runner } from './runner.ts';

export class LinuxCommands implements Commands {
  readonly #runner: Runner;

  constructor(options: { runner: Runner }) {
    this.#runner = options.runner;
  }

  check(words: readonly string[]): Promise<Outcome> {
    return this.#runner.run(words);
  }

  async run({ user, line, signal, keep }: UserCommand): Promise<Outcome> {
    const { stdout } = await this.#runner.run(['getent', 'passwd', '--', user]);
    const account = readUsers(stdout).find((one) => one.name === user);
    if (account === undefined) throw new HostError(`no account is called ${user}`);
    const { gid, home } = account;
    // By name, for several accounts may have one number and each has groups of its own.
    const become = ['setpriv', `--reuid=${user}`, `--regid=${gid}`, '--init-groups', '--'];
    const folder = await this.#runner.run(['test', '-d', home]);
    return this.#runner.run([...become, '/bin/sh', '-c', line], {
      signal,
      keep,
      timeout: Number.POSITIVE_INFINITY,
      folder: folder.status === 0 ? home : '/',
      // What cron gives a job.
      environment: { PATH: '/usr/bin:/bin', HOME: home, USER: user, LOGNAME: user, SHELL: '/bin/sh' },
    });
  }
}
