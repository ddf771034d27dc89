/** Programs that end by themselves. A program is a list of words; no shell reads it on the way. */
export interface Commands {
  /** Asks a checker about a staged file. It must change nothing. */
  check(words: readonly string[]): Promise<Outcome>;

  /**
   * Runs a person's own command line, as that account, with the shell they wrote it for. Ends early when `signal`
   * fires. A missing account or shell is a failure; the command's own exit status is an answer.
   */
  run(command: UserCommand): Promise<Outcome>;
}

export interface Outcome {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface UserCommand {
  readonly user: string;
  /** Handed to `/bin/sh -c` as it stands. */
  readonly line: string;
  readonly signal: AbortSignal;
  /** The last bytes of each stream that are kept. */
  readonly keep: number;
}
