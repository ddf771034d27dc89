import type { Problem } from '../../engine/declare/problem.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { showSize } from '../../lib/size.ts';

/** Available share of the memory below which there is a problem. */
const least = { warning: 0.06, critical: 0.03 } as const;

export function memoryProblems({ condition: { memory } }: Facts): readonly Problem[] {
  const { total, available } = memory;
  const left = total > 0 ? available / total : 1;
  if (left >= least.warning) return [];
  const message = `The memory is almost used up: ${showSize(available)} of ${showSize(total)} are available. When there is none left, the kernel ends programs. systemd-cgtop shows which services use it.`;
  return [{ kind: 'memory', about: 'memory', severity: left < least.critical ? 'critical' : 'warning', message }];
}
