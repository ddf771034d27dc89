import { readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { isWithin } from '../../lib/path.ts';
import type { Commands, Outcome, UserCommand, UserProgram } from '../ports/commands.ts';
import { HostError } from '../ports/index.ts';
import type { VirtualLdap } from './ldap.ts';
import { proftpdTest } from './proftpd.ts';
import { readKey, sshdTest } from './sshd.ts';
import { codeOf } from './state.ts';
import { testparm } from './testparm.ts';
import { type Tree, textAt, textOf } from './tree.ts';

/** The exit status that a shell reports for a command ended by SIGTERM. */
const ended = 143;

/** Starts no programs. Checkers are models of the real ones; other commands are only described in the output. */
export class VirtualCommands implements Commands {
  readonly #tree: Tree;
  readonly #staged: string;
  readonly #userNames: () => Promise<readonly string[]>;
  readonly #ldap: VirtualLdap;

  constructor(tree: Tree, options: { staged: string; userNames: () => Promise<readonly string[]>; ldap: VirtualLdap }) {
    this.#tree = tree;
    this.#ldap = options.ldap;
    this.#staged = options.staged;
    this.#userNames = options.userNames;
  }

  async check(argv: readonly string[]): Promise<Outcome> {
    const [program = '', ...rest] = argv;
    switch (basename(program)) {
      case 'testparm':
        return testparm(rest.findLast((argument) => !argument.startsWith('-')) ?? '/etc/samba/smb.conf', (path) =>
          this.#read(path),
        );
      case 'proftpd':
        return proftpdTest(after(rest, '-c') ?? '/etc/proftpd/proftpd.conf', {
          read: (path) => this.#read(path),
          matching: (pattern) => this.#matching(pattern),
        });
      case 'sshd':
        return sshdTest(after(rest, '-f') ?? '/etc/ssh/sshd_config', (path) => this.#read(path));
      case 'timeout':
        return rest.includes('ldapsearch')
          ? this.#ldap.run(rest, (path) => this.#read(path))
          : { status: 0, stdout: '', stderr: '' };
      case 'ssh-keygen':
        return readKey(after(rest, '-f') ?? '', (path) => this.#read(path));
      default:
        return { status: 0, stdout: '', stderr: '' };
    }
  }

  run({ user, line, signal, keep }: UserCommand): Promise<Outcome> {
    return this.#describe(user, line, signal, keep);
  }

  async runProgram({ user, argv, signal, keep }: UserProgram): Promise<Outcome> {
    if (argv.includes('ldapadd') || argv.includes('ldapdelete'))
      return this.#ldap.run(argv, (path) => this.#read(path));
    return this.#describe(user, argv.join(' '), signal, keep);
  }

  async #describe(user: string, line: string, signal: AbortSignal, keep: number): Promise<Outcome> {
    if (!(await this.#userNames()).includes(user)) throw new HostError(`no account is called ${user}`);
    if (signal.aborted) return { status: ended, stdout: '', stderr: '' };
    const text = `The virtual host would run this as ${user}: ${line}\n`;
    return { status: 0, stdout: Buffer.from(text).subarray(-Math.max(1, keep)).toString(), stderr: '' };
  }

  #read(path: string): string | undefined {
    return isWithin(path, this.#staged) ? textOf(() => path) : textAt(this.#tree, path);
  }

  #matching(pattern: string): readonly string[] {
    const folder = dirname(pattern);
    const names = new RegExp(
      `^${basename(pattern)
        .replace(/[.+^${}()|[\]\\]/g, '\\$&')
        .replaceAll('*', '.*')
        .replaceAll('?', '.')}$`,
    );
    try {
      return readdirSync(this.#tree.locate(folder))
        .filter((name) => names.test(name))
        .sort()
        .map((name) => `${folder}/${name}`);
    } catch (error) {
      if (codeOf(error) !== undefined) return [];
      throw error;
    }
  }
}

function after(argv: readonly string[], option: string): string | undefined {
  const at = argv.indexOf(option);
  return at < 0 ? undefined : argv[at + 1];
}
