import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';

/** What the first words behind ```sh say of a block; none is a block that everybody runs and that ends well. */
const roles = ['values', 'refused', 'hypervisor'] as const;
type Role = (typeof roles)[number];

/** A block of commands of a page, with the answer that the page shows for it. */
export interface Block {
  /** Of its first command, for messages. */
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
  return roles.find((role) => role === word) ?? assert.fail(`${word} is none of ${roles.join(', ')}`);
}

/**
 * Whether an answer is the one that a page shows. `<number>` and the like stand for what differs from machine to machine, … for
 * any part of a line, and as a line of its own for any lines.
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

/** One shell that stays, so that what one block sets the next ones have. It ends at the first command that fails, as a script would. */
export class Shell implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #script: Writable;
  readonly #output: Readable;

  constructor(options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> }) {
    // The blocks come by a way of their own: programs that read their input find it empty.
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

  /** What a block prints, with its status; `refused` is one whose last command has to fail. */
  run(text: string, { refused = false }: { readonly refused?: boolean } = {}): Promise<Outcome> {
    assert.equal(this.#child.exitCode, null, 'the shell has ended');
    const end = randomUUID();
    return new Promise((resolve) => {
      let printed = '';
      // A loop that waits for what never comes.
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

  /** With what it started. */
  #kill(): void {
    if (this.#child.pid !== undefined) process.kill(-this.#child.pid, 'SIGKILL');
  }
}

export interface Reader {
  /** What the reader writes in the place of the values that a page shows. */
  readonly values: Readonly<Record<string, string>>;
  readonly shell: Shell;
  /** The other machine of which a page says that a block is typed there, as root, each in a shell of its own. */
  readonly hypervisor?: (script: string) => Promise<Outcome>;
}

/** Runs blocks as they are printed, and holds every answer against the one that the page shows. */
export async function follow(blocks: readonly Block[], reader: Reader): Promise<void> {
  let there = '';
  for (const block of blocks) {
    const isThere = block.roles.includes('hypervisor');
    const refused = block.roles.includes('refused');
    const text = block.roles.includes('values') ? withValues(block, reader.values) : block.text;
    if (isThere && block.roles.includes('values')) there = `${text}\n`;
    const outcome = isThere ? await reader.hypervisor?.(`${there}${text}`) : await reader.shell.run(text, { refused });
    assert.ok(outcome !== undefined, `line ${block.line}: there is no such machine`);
    const { status, output } = outcome;
    assert.equal(status === 0, !refused, `line ${block.line} ended with ${status}:\n${text}\n${output}`);
    assert.ok(
      isAnswer(block.answer, output),
      `line ${block.line} does not print what the page shows:\n${text}\nIt prints:\n${output}`,
    );
  }
}

/** Assignments, with the values of the one who reads. */
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
