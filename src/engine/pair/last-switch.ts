import { isObject } from '../../lib/json.ts';

/** What one machine of a pair has done of a switch, with the times of its clock in milliseconds since 1970. */
export interface Release {
  readonly from: string;
  readonly began: number;
  /** When nothing used the pool any more; the export followed. */
  readonly ended: number;
}

/** How the pool came to the machine that has it. */
export interface Switch {
  /** Undefined after a machine that failed. */
  readonly from: string | undefined;
  readonly to: string;
  /** When it began and when the machine served, in milliseconds since 1970. */
  readonly began: number;
  readonly served: number;
  readonly steps: readonly { readonly title: string; readonly seconds: number }[];
}

/** A switch from what the one machine has left and the other one has measured. */
export function switchOf(
  release: Release | undefined,
  to: string,
  times: { readonly asked: number; readonly imported: number; readonly served: number },
): Switch {
  const { asked, imported, served } = times;
  const began = release?.began ?? asked;
  const step = (title: string, from: number, until: number) =>
    Object.freeze({ title, seconds: Math.max(0, Math.round((until - from) / 100) / 10) });
  return Object.freeze({
    from: release?.from,
    to,
    began,
    served,
    steps: Object.freeze([
      ...(release === undefined
        ? []
        : [
            step(`end what uses the pool on ${release.from}`, release.began, release.ended),
            step('export the pool, and ask the other machine', release.ended, asked),
          ]),
      step(`import the pool on ${to}`, asked, imported),
      step('start the services', imported, served),
    ]),
  });
}

export function readRelease(value: unknown): Release | undefined {
  if (!isObject(value)) return undefined;
  const { from, began, ended } = value;
  return typeof from === 'string' && typeof began === 'number' && typeof ended === 'number'
    ? Object.freeze({ from, began, ended })
    : undefined;
}

export function readSwitch(value: unknown): Switch | undefined {
  if (!isObject(value)) return undefined;
  const { from, to, began, served, steps } = value;
  if (typeof to !== 'string' || typeof began !== 'number' || typeof served !== 'number' || !Array.isArray(steps))
    return undefined;
  return Object.freeze({
    ...{ from: typeof from === 'string' ? from : undefined, to, began, served },
    steps: Object.freeze(
      steps
        .filter(isObject)
        .map(({ title, seconds }) => Object.freeze({ title: String(title), seconds: Number(seconds) })),
    ),
  });
}
