import type { Commands, Outcome, UserCommand, UserProgram } from '../ports/commands.ts';
import { HostError } from '../ports/index.ts';
import { readUsers } from './accounts-read.ts';
import { type Runner, type RunOptions, systemPath } from './runner.ts';

export class LinuxCommands implements Commands {
  readonly #runner: Runner;

  constructor(options: { runner: Runner }) {
    this.#runner = options.runner;
  }

  check(argv: readonly string[]): Promise<Outcome> {
    return this.#runner.run(argv);
  }

  run({ user, line, signal, keep }: UserCommand): Promise<Outcome> {
    return this.#runAs(user, ['/bin/sh', '-c', line], { signal, keep, timeout: Number.POSITIVE_INFINITY });
  }

  runProgram({ user, argv, signal, keep, timeout = Number.POSITIVE_INFINITY, heard }: UserProgram): Promise<Outcome> {
    return this.#runAs(user, argv, { signal, keep, timeout, ...(heard === undefined ? {} : { heard }) });
  }

  async #runAs(user: string, argv: readonly string[], options: RunOptions): Promise<Outcome> {
    const { stdout } = await this.#runner.run(['getent', 'passwd', '--', user]);
    const account = readUsers(stdout).find((found) => found.name === user);
    if (account === undefined) throw new HostError(`no account is called ${user}`);
    const { gid, home } = account;
    // By name: several accounts may share one uid, and each has groups of its own.
    const become = ['setpriv', `--reuid=${user}`, `--regid=${gid}`, '--init-groups', '--'];
    const folder = await this.#runner.run(['test', '-d', home]);
    return this.#runner.run([...become, ...argv], {
      ...options,
      folder: folder.status === 0 ? home : '/',
      // The environment that a line of the cron table also gets.
      environment: { PATH: systemPath, HOME: home, USER: user, LOGNAME: user, SHELL: '/bin/sh' },
      // The daemon's own umask is stricter; files of a user's program get the permissions of one that was started by
      // hand.
      umask: 0o022,
    });
  }
}
