import type { TestEvent } from 'node:test/reporters';

/** The prefix by which the runner finds reports in the output of the tests. */
export const mark = '\u001e';

/** One test, as its process reports it to the runner. */
export interface Statement {
  readonly name: string;
  readonly passed: boolean;
  readonly skipped: boolean;
  readonly seconds: number;
  /** The location and the error; empty for a test that passed. */
  readonly failure: string;
}

/** A reporter for the runner: a line of JSON for each test that has ended. */
export default async function* reports(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    const { name, details, file, line } = event.data;
    // A suite, or a test that failed only because its subtests did, is not a statement of its own.
    if (details.type === 'suite' && event.type === 'test:pass') continue;
    const error = 'error' in details ? details.error : undefined;
    if (error !== undefined && 'failureType' in error && error.failureType === 'subtestsFailed') continue;
    const cause: unknown = error?.cause ?? error;
    const message = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
    const statement: Statement = {
      name,
      passed: event.type === 'test:pass',
      skipped: event.data.skip !== undefined,
      seconds: details.duration_ms / 1000,
      failure: error === undefined ? '' : `${file}:${line}\n${message}`,
    };
    yield `${mark}${JSON.stringify(statement)}\n`;
  }
}
