/** What the main thread of a page computes while something happens, by the trace of Chromium. */
import type { Page } from 'playwright-core';
import { isObject } from '../../src/lib/json.ts';

/** Milliseconds of processor time. Time in which the thread waits for a core that other work has is not in them. */
export interface Computed {
  readonly tasks: readonly number[];
  /** Of all tasks from the beginning of one frame to that of the next. */
  readonly frames: readonly number[];
}

interface Entry {
  readonly name: string;
  readonly thread: string;
  /** Microseconds. */
  readonly begin: number;
  readonly computed: number;
  /** The name of the thread, in the entry that reports it. */
  readonly threadName: string;
}

function entryOf(value: unknown): Entry {
  const { name, pid, tid, ts, tdur, args } = isObject(value) ? value : {};
  return {
    ...{ name: String(name), thread: `${pid} ${tid}`, begin: Number(ts), computed: Number(tdur ?? 0) },
    threadName: isObject(args) ? String(args['name']) : '',
  };
}

/** Does some work and answers what was computed for it. The browser has no other page. */
export async function computedDuring(page: Page, work: () => Promise<void>): Promise<Computed> {
  const browser = page.context().browser();
  if (browser === null) throw new Error('The page belongs to no browser.');
  const tools = await browser.newBrowserCDPSession();
  const entries: Entry[] = [];
  tools.on('Tracing.dataCollected', ({ value }) => void entries.push(...value.map(entryOf)));
  const ended = new Promise<void>((resolve) => tools.once('Tracing.tracingComplete', () => resolve()));
  await tools.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: ['devtools.timeline', 'disabled-by-default-devtools.timeline'] },
  });
  await work();
  await tools.send('Tracing.end');
  await ended;
  await tools.detach();
  const framed = entries.findLast(({ name }) => name === 'FireAnimationFrame')?.thread;
  const main = entries.filter(({ thread }) => thread === framed).toSorted((a, b) => a.begin - b.begin);
  if (!main.some(({ name, threadName }) => name === 'thread_name' && threadName === 'CrRendererMain'))
    throw new Error('No frame of a page was traced.');
  const tasks: number[] = [];
  const frames: number[] = [];
  for (const { name, computed } of main) {
    if (name === 'FireAnimationFrame') frames.push(0);
    if (name !== 'RunTask') continue;
    tasks.push(computed / 1000);
    // A task begins before the frame that it draws: that frame is counted with the one before, which evens out.
    if (frames.length > 0) frames.push((frames.pop() ?? 0) + computed / 1000);
  }
  return { tasks, frames };
}
