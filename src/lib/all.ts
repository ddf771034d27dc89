/** Waits until all have ended, also after one has failed, and then throws the first error in their order. */
export async function allEnded(works: Iterable<Promise<unknown>>): Promise<void> {
  const failure = (await Promise.allSettled(works)).find(({ status }) => status === 'rejected');
  if (failure?.status === 'rejected') throw failure.reason;
}
