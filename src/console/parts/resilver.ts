/** While a scrub or resilver runs no event says how far it is: the page reads the pools again until it has ended. */
import { useEffect } from 'preact/hooks';
import type { Pool } from './pools.tsx';

/** Milliseconds between two looks. The appliance looks at its pools every five seconds. */
const pause = 2000;

export function useWatched(pools: readonly Pool[], again: () => void): void {
  const isRunning = pools.some(({ scan }) => scan?.state === 'running');
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') again();
    }, pause);
    return () => clearInterval(timer);
  }, [isRunning]);
}
