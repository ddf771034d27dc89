/**
 * The longest turn of the event loop while the work runs, in milliseconds of processor time of this thread: other programs
 * may have the processor meanwhile.
 */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  const used = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let longest = 0;
  let last = used();
  let isOver = false;
  const turn = () => {
    const now = used();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  isOver = true;
  return longest;
}
