/** Runs programs to their end. A program is an argv; no shell interprets it. */
export interface Commands {
  /** Runs a checker on a staged file. The checker must change nothing. */
  check(argv: readonly string[]): Promise<Outcome>;

  /**
   * Runs a user-defined command line as `user`, by `/bin/sh`. Ends early when `signal` is aborted. A missing account or
   * shell throws; the exit status of the command does not, and is returned.
   */
  run(command: UserCommand): Promise<Outcome>;

  /** The same for an argv. Files that the program creates are accessible to its account only. */
  runProgram(program: UserProgram): Promise<Outcome>;
}

export interface Outcome {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface AsUser {
  readonly user: string;
  readonly signal: AbortSignal;
  /** How many bytes at the end of each stream are kept. */
  readonly keep: number;
}

export interface UserCommand extends AsUser {
  /** Passed to `/bin/sh -c` unchanged. */
  readonly line: string;
}

export interface UserProgram extends AsUser {
  readonly argv: readonly string[];
  /** Milliseconds after which the program is ended and the call fails. Without it, the run time is unlimited. */
  readonly timeout?: number;
  /** Called with each line of standard output as it arrives. A carriage return also ends a line. */
  readonly heard?: (line: string) => void;
}
