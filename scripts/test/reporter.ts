import type { TestEvent } from 'node:test/reporters';

/** Stands before each report, so that the runner finds it between what the tests themselves print. */
export const mark = '\u001e';

/** One test, as its process reports it to the runner. */
export interface Statement {
  readonly name: string;
  readonly passed: boolean;
  readonly skipped: boolean;
  readonly seconds: number;
  /** Where it stands and what went wrong; empty for one that passed. */
  readonly failure: string;
}

/** A reporter for the runner: a line of JSON for each test that has ended. */
export default async function* reports(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    const { name, details, file, line } = event.data;
    // A suite, or a test around others that failed with them, states nothing of its own.
    if (details.type === 'suite' && event.type === 'test:pass') continue;
    const error = 'error' in details ? details.error : undefined;
    if (error !== undefined && 'failureType' in error && error.failureType === 'subtestsFailed') continue;
    const cause: unknown = error?.cause ?? error;
    const words = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
    const statement: Statement = {
      name,
      passed: event.type === 'test:pass',
      skipped: event.data.skip !== undefined,
      seconds: details.duration_ms / 1000,
      failure: error === undefined ? '' : `${file}:${line}\n${words}`,
    };
    yield `${mark}${JSON.stringify(statement)}\n`;
  }
}
