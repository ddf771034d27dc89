import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Exchange } from './world.ts';

/** An operation of the document. */
export interface Operation {
  readonly method: string;
  /** Without slashes around it: `storage/volume/{vol}/scrub`. */
  readonly path: string;
  readonly status: number;
}

export const operations: readonly Operation[] = readFileSync(
  fileURLToPath(new URL('./operations.tsv', import.meta.url)),
  'utf8',
)
  .split('\n')
  .filter((line) => /^(GET|POST|PUT|DELETE)\t/.test(line))
  .map((line) => {
    const [method = '', path = '', status = ''] = line.split('\t');
    return { method, path: trimmed(path), status: Number(status) };
  });

/** The operations that no request of its kind showed, and what was answered instead. */
export function notShown(
  exchanges: readonly Exchange[],
): readonly { readonly operation: Operation; readonly why: string }[] {
  const shapes = operations.map((operation) => ({
    operation,
    shape: shapeOf(operation.path),
    weight: weightOf(operation.path),
  }));
  const statuses = new Map<Operation, Set<number>>(operations.map((operation) => [operation, new Set()]));
  for (const { method, path, status } of exchanges) {
    const fitting = shapes.filter(({ operation, shape }) => operation.method === method && shape.test(trimmed(path)));
    const most = Math.max(...fitting.map(({ weight }) => weight));
    for (const { operation } of fitting.filter(({ weight }) => weight === most)) statuses.get(operation)?.add(status);
  }
  return operations.flatMap((operation) => {
    const seen = [...(statuses.get(operation) ?? [])];
    if (seen.includes(operation.status)) return [];
    return [
      {
        operation,
        why: seen.length === 0 ? 'was not tried' : `answers ${seen.toSorted().join(', ')}, not ${operation.status}`,
      },
    ];
  });
}

function trimmed(path: string): string {
  return path.replace(/^\/+|\/+$/g, '');
}

/** Names of datasets, zvols and snapshots may have slashes in them. */
function shapeOf(path: string): RegExp {
  const withSlashes = /^storage\/(dataset|snapshot|volume\/\{vol\}\/(datasets|zvols))\//;
  return new RegExp(
    `^${path.replaceAll(/\{[^}]*\}/g, (_, at: number) => (withSlashes.test(path.slice(0, at)) ? '.+' : '[^/]+'))}$`,
  );
}

/** How much of a path is said word by word: the more particular path is meant. */
function weightOf(path: string): number {
  return path.split('/').filter((part) => !part.startsWith('{')).length;
}
