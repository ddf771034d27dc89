/** The exit codes of commands for people and scripts (docs/cli.md). */
export const exits = {
  done: 0,
  refused: 1,
  differences: 2,
  notFound: 3,
  notAllowed: 4,
  conflict: 5,
  unreachable: 6,
  jobFailed: 7,
  usage: 64,
  interrupted: 130,
} as const;

export type Exit = (typeof exits)[keyof typeof exits];

/** A command that ends without success. The message is one or more sentences for the user. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exit: Exit;
  /** What the server answered, for `-o json`. */
  readonly answer: unknown;

  constructor(exit: Exit, message: string, answer?: unknown) {
    super(message);
    this.exit = exit;
    this.answer = answer;
  }
}

export function usage(message: string): CommandError {
  return new CommandError(exits.usage, message);
}
