import type { Operation } from './operations.ts';

/** One thing that the document says, and what is wrong with it here, if anything. */
export interface Check {
  readonly area: string;
  readonly resource: string;
  readonly title: string;
  readonly why: string | undefined;
}

export interface Report {
  readonly checks: readonly Check[];
  readonly operations: readonly Operation[];
  readonly missing: readonly { readonly operation: Operation; readonly why: string }[];
}

/** The area of the document that a path belongs to. */
export function areaOf(path: string): string {
  return path.startsWith('services/iscsi') ? 'services/iscsi' : (path.split('/')[0] ?? path);
}

export function conforms({ checks, missing }: Report): boolean {
  return missing.length === 0 && checks.every(({ why }) => why === undefined);
}

/** A line an area, then everything that failed and why. */
export function table({ checks, operations, missing }: Report): string {
  const areas = [...new Set(operations.map(({ path }) => areaOf(path)))];
  const rows = areas.map((area) => {
    const all = operations.filter(({ path }) => areaOf(path) === area).length;
    const lacking = missing.filter(({ operation }) => areaOf(operation.path) === area).length;
    const own = checks.filter((check) => check.area === area);
    const failed = own.filter(({ why }) => why !== undefined).length;
    return [area, `${all - lacking} of ${all}`, String(own.length - failed), String(failed)];
  });
  const failed = checks.filter(({ why }) => why !== undefined);
  const total = [
    'all',
    `${operations.length - missing.length} of ${operations.length}`,
    String(checks.length - failed.length),
    String(failed.length),
  ];
  const reasons = [
    ...failed.map(({ resource, title, why }) => `${resource}: ${title}\n    ${why}`),
    ...missing.map(({ operation: { method, path }, why }) => `${method} ${path}\n    ${why}`),
  ];
  return `${columns([['area', 'operations', 'passed', 'failed'], ...rows, total])}\n${reasons.length === 0 ? '' : `\n${reasons.join('\n')}\n`}`;
}

function columns(rows: readonly (readonly string[])[]): string {
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  return rows
    .map((row) =>
      row.map((cell, column) => (column === 0 ? cell.padEnd(width(column)) : cell.padStart(width(column)))).join('  '),
    )
    .join('\n');
}
