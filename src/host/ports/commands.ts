/** Programs that end by themselves. A program is a list of words; no shell reads it on the way. */
export interface Commands {
  /** Asks a checker about a staged file. It must change nothing. */
  check(argv: readonly string[]): Promise<Outcome>;

  /**
   * Runs a person's own command line, as that account, with the shell they wrote it for. Ends early when `signal`
   * fires. A missing account or shell is a failure; the command's own exit status is an answer.
   */
  run(command: UserCommand): Promise<Outcome>;

  /** The same for a program that is a list of words. What it writes into files of its own is for the account. */
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
  /** The last bytes of each stream that are kept. */
  readonly keep: number;
}

export interface UserCommand extends AsUser {
  /** Handed to `/bin/sh -c` as it stands. */
  readonly line: string;
}

export interface UserProgram extends AsUser {
  readonly argv: readonly string[];
  /** Milliseconds; without it the program takes as long as it likes. One that takes longer is a failure. */
  readonly timeout?: number;
  /** Told each line of standard output as it comes; a carriage return ends one too. */
  readonly heard?: (line: string) => void;
}
