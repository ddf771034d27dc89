import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';

/** The roles of a block, by the first word after ```sh. A block without one is run by every reader and succeeds. */
const roles = ['values', 'refused', 'hypervisor', 'first', 'second'] as const;
type Role = (typeof roles)[number];

/** A block of commands of a page, with the output that the page shows for it. */
export interface Block {
  /** The line of its first command, for messages. */
  readonly line: number;
  readonly text: string;
  readonly roles: readonly Role[];
  readonly answer: string;
}

/**
 * The ```sh blocks of a page in order. A block in another language is the answer to the commands before it; commands
 * without one print nothing.
 */
export function blocksOf(page: string): readonly Block[] {
  const blocks: Block[] = [];
  const fences = [...page.matchAll(/^```(\w+)([^\n]*)\n(.*?)^```$/gms)];
  assert.equal(
    [...page.matchAll(/^ *(```|~~~)/gm)].length,
    2 * fences.length,
    'a block begins at the margin, names its language, and ends',
  );
  let asked = false;
  for (const { 1: language = '', 2: words = '', 3: text = '', index } of fences) {
    const line = page.slice(0, index).split('\n').length + 1;
    if (language === 'sh')
      blocks.push({ line, text: text.trimEnd(), roles: (words.match(/\S+/g) ?? []).map(roleOf), answer: '' });
    else {
      const question = blocks.pop();
      assert.ok(
        question !== undefined && asked && language === 'console',
        `line ${line}: a block of ${language} that answers nothing`,
      );
      blocks.push({ ...question, answer: text });
    }
    asked = language === 'sh';
  }
  return blocks;
}

function roleOf(word: string): Role {
  return roles.find((role) => role === word) ?? assert.fail(`expected one of ${roles.join(', ')}, got ${word}`);
}

/**
 * Whether an output is the one that a page shows. `<number>` and the like stand for values that differ from machine to
 * machine, … for any part of a line, and a line of only … for any lines.
 */
export function isAnswer(shown: string, printed: string): boolean {
  const lines = shown.trimEnd().split('\n');
  const pattern = lines
    .map((line) => (line === '…' ? '(?:[^\\n]*\\n)*?' : `${linePattern(line.trimEnd())}[ \\t]*\\n`))
    .join('');
  return new RegExp(`^${pattern}$`).test(`${printed.trimEnd()}\n`);
}

function linePattern(line: string): string {
  return line
    .split(/(<[a-z][a-z -]*>|…)/)
    .map((part, index) =>
      index % 2 === 0 ? part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&') : part === '…' ? '[^\\n]*' : '[^\\n]+',
    )
    .join('');
}

export interface Outcome {
  readonly status: number;
  readonly output: string;
}

/** The longest that a block may take. */
const blockSeconds = 300;

/**
 * One shell for all blocks, so that later blocks see the variables of earlier ones. Like a script, it ends at the first
 * command that fails.
 */
export class Shell implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #script: Writable;
  readonly #output: Readable;

  constructor(options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> }) {
    // The blocks come by a separate descriptor, so that programs which read standard input find it empty.
    this.#child = spawn(
      'bash',
      ['-euo', 'pipefail', '-c', 'exec 2>&1; while IFS= read -r -d "" -u 3 block; do eval "$block"; done'],
      {
        cwd: options.cwd,
        env: { PATH: process.env['PATH'] ?? '', HOME: options.cwd, LC_ALL: 'C.UTF-8', TZ: 'UTC', ...options.env },
        stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
        detached: true,
      },
    );
    const [, output, , script] = this.#child.stdio;
    assert.ok(output instanceof Object && 'setEncoding' in output && script instanceof Object && 'write' in script);
    this.#script = script;
    this.#output = output;
    this.#output.setEncoding('utf8');
    this.#script.on('error', () => {});
  }

  /** The output of a block, with its status; the last command of a `refused` block has to fail. */
  run(text: string, { refused = false }: { readonly refused?: boolean } = {}): Promise<Outcome> {
    assert.equal(this.#child.exitCode, null, 'the shell has ended');
    const end = randomUUID();
    return new Promise((resolve) => {
      let printed = '';
      // A loop may wait for something that never happens.
      const limit = setTimeout(() => this.#kill(), blockSeconds * 1000);
      const settle = (outcome: Outcome) => {
        clearTimeout(limit);
        this.#output.off('data', hear);
        this.#child.off('close', died);
        resolve(outcome);
      };
      const hear = (part: string) => {
        printed += part;
        const [, output, status] = new RegExp(`^([\\s\\S]*)${end} (\\d+)\\n$`).exec(printed) ?? [];
        if (output !== undefined) settle({ status: Number(status), output });
      };
      const died = (code: number | null) => settle({ status: code ?? 128, output: printed });
      this.#output.on('data', hear);
      this.#child.once('close', died);
      this.#script.write(`${refused ? 'set +e\n' : ''}${text}\nprintf '${end} %s\\n' $?\nset -e\0`);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((done) => this.#child.once('close', done));
    this.#kill();
    await ended;
  }

  /** Ends the shell and everything that it started. */
  #kill(): void {
    if (this.#child.pid !== undefined) process.kill(-this.#child.pid, 'SIGKILL');
  }
}

export interface Reader {
  /** The reader's values in place of those on the page. */
  readonly values: Readonly<Record<string, string>>;
  readonly shell: Shell;
  /** The other machine on which, according to the page, a block is run as root, each in its own shell. */
  readonly hypervisor?: (script: string) => Promise<Outcome>;
  /** The machines of a pair, on which blocks are run as root with the values. */
  readonly first?: (script: string) => Promise<Outcome>;
  readonly second?: (script: string) => Promise<Outcome>;
}

/** Runs blocks as they are printed, and compares every output with the one that the page shows. */
export async function follow(blocks: readonly Block[], reader: Reader): Promise<void> {
  let there = '';
  let values = '';
  for (const block of blocks) {
    const isThere = block.roles.includes('hypervisor');
    const machine = (['first', 'second'] as const).find((role) => block.roles.includes(role));
    const refused = block.roles.includes('refused');
    const text = block.roles.includes('values') ? withValues(block, reader.values) : block.text;
    if (isThere && block.roles.includes('values')) there = `${text}\n`;
    else if (block.roles.includes('values')) values = `${values}${text}\n`;
    const elsewhere = isThere ? reader.hypervisor : machine && reader[machine];
    const outcome =
      isThere || machine !== undefined
        ? await elsewhere?.(`${isThere ? there : values}${text}`)
        : await reader.shell.run(text, { refused });
    assert.ok(outcome !== undefined, `line ${block.line}: there is no such machine`);
    const { status, output } = outcome;
    assert.equal(status === 0, !refused, `line ${block.line} ended with ${status}:\n${text}\n${output}`);
    assert.ok(
      isAnswer(block.answer, output),
      `line ${block.line} does not print what the page shows:\n${text}\nIt prints:\n${output}`,
    );
  }
}

/** Assignments with the reader's values. */
function withValues({ line, text }: Block, values: Readonly<Record<string, string>>): string {
  const names = text
    .split('\n')
    .map(
      (assignment) => /^([A-Z_]+)=\S/.exec(assignment)?.[1] ?? assert.fail(`line ${line}: ${assignment} is no value`),
    );
  return names
    .map(
      (name) =>
        `${name}='${(values[name] ?? assert.fail(`line ${line}: ${name} has no value`)).replaceAll("'", "'\\''")}'`,
    )
    .join('\n');
}
