import type { TestEvent } from 'node:test/reporters';

/** The prefix by which the runner finds reports in the output of the tests. */
export const mark = '\u001e';

/** The name under which an error outside of all tests is reported, as if it were one that failed. */
export const outside = 'no error outside of the tests';

/** One test, as its process reports it to the runner. */
export interface Statement {
  readonly name: string;
  readonly passed: boolean;
  readonly skipped: boolean;
  readonly seconds: number;
  /** The location and the error; empty for a test that passed. */
  readonly failure: string;
}

/** The end of a suite that is in no other, such as a file of a batch. The statements since the last end are its own. */
export interface SuiteEnd {
  readonly suite: string;
  readonly seconds: number;
}

/** A reporter for the runner: a line of JSON for each test that has ended, and for each outermost suite. */
export default async function* reports(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    const { name, details, file, line, nesting } = event.data;
    const isSuite = details.type === 'suite';
    const end: SuiteEnd = { suite: name, seconds: details.duration_ms / 1000 };
    const after = isSuite && nesting === 0 ? `${mark}${JSON.stringify(end)}\n` : '';
    const error = 'error' in details ? details.error : undefined;
    // A suite, or a test that failed only because its subtests did, is not a statement of its own.
    const isOwn =
      isSuite && event.type === 'test:pass'
        ? false
        : error === undefined || !('failureType' in error) || error.failureType !== 'subtestsFailed';
    if (!isOwn) {
      yield after;
      continue;
    }
    const cause: unknown = error?.cause ?? error;
    const message = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
    const statement: Statement = {
      name,
      passed: event.type === 'test:pass',
      skipped: event.data.skip !== undefined,
      seconds: details.duration_ms / 1000,
      failure: error === undefined ? '' : `${file}:${line}\n${message}`,
    };
    yield `${mark}${JSON.stringify(statement)}\n${after}`;
  }
}
