import type { TestEvent } from 'node:test/reporters';

/** A reporter beside the dots: the failures in full, and the counts as the last lines. */
export default async function* failures(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type === 'test:fail') {
      const { error } = event.data.details;
      // A test around others fails with them; they have told why.
      if ('failureType' in error && error.failureType === 'subtestsFailed') continue;
      const cause: unknown = error.cause ?? error;
      yield `\n✖ ${event.data.name}\n  ${event.data.file}:${event.data.line}\n${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}\n`;
    } else if (event.type === 'test:diagnostic' && event.data.nesting === 0 && /^(tests|pass|fail|cancelled|skipped) \d+$/.test(event.data.message)) {
      yield `ℹ ${event.data.message}\n`;
    }
  }
}
