import { readFileSync } from 'node:fs';
import { onBrokenOutput } from '../broken-output.ts';
import { readPassword } from '../password.ts';

/** What a command writes to and asks. */
export interface Terminal {
  /** Columns of the terminal that shows the output; undefined if it is a file or a pipe. */
  readonly columns: number | undefined;
  /** Whether somebody can answer a question. */
  readonly asks: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  out(text: string): void;
  /** Messages and progress. */
  err(text: string): void;
  question(text: string): Promise<string>;
  /** Standard input up to its end. */
  input(): string;
}

export function processTerminal(): Terminal {
  const { stdout, stderr, stdin, env } = process;
  // A list that is shown again at each change would never end.
  onBrokenOutput(() => process.exit());
  return {
    columns: stdout.isTTY ? stdout.columns : undefined,
    asks: stdin.isTTY === true && stderr.isTTY === true,
    environment: env,
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    question: (text) => readPassword(text),
    input: () => readFileSync(0, 'utf8'),
  };
}
