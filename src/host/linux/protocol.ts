import { isObject } from '../../lib/json.ts';

/** The messages between the daemon and its helper process. Each running program has an id. */

export interface StartOrder {
  readonly kind: 'start';
  readonly id: number;
  readonly argv: readonly string[];
  readonly input: string | undefined;
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Milliseconds, or undefined for no limit. */
  readonly timeout: number | undefined;
  /** With `tail`, only the last `most` bytes of each stream are kept; without it, more than `most` end the program. */
  readonly most: number;
  readonly tail: boolean;
  /** The program's umask, or undefined for that of the helper. */
  readonly umask: number | undefined;
  /** A regular expression of the lines of standard output that are reported as they come, or undefined for none. */
  readonly lines: string | undefined;
}

export interface EndOrder {
  readonly kind: 'end';
  readonly id: number;
}

/** Ends the programs and the helper. */
export interface CloseOrder {
  readonly kind: 'close';
}

export type Order = StartOrder | EndOrder | CloseOrder;

export type Report =
  | { readonly kind: 'lines'; readonly id: number; readonly texts: readonly string[] }
  /** The next bytes of a long output, in order. `ended` has the rest. */
  | {
      readonly kind: 'output';
      readonly id: number;
      readonly stream: 'stdout' | 'stderr';
      readonly bytes: Uint8Array;
    }
  | { readonly kind: 'failed'; readonly id: number; readonly code: string; readonly message: string }
  | {
      readonly kind: 'ended';
      readonly id: number;
      readonly status: number;
      readonly stdout: Uint8Array;
      readonly stderr: Uint8Array;
      readonly cut: 'time' | 'size' | undefined;
    };

/** The message as a report, or undefined when it is not one. */
export function readReport(message: unknown): Report | undefined {
  if (!isObject(message)) return undefined;
  const { kind, id, texts, stream, bytes, code, message: said, status, stdout, stderr, cut } = message;
  if (typeof id !== 'number') return undefined;
  if (kind === 'lines' && isTextList(texts)) return { kind, id, texts };
  if (kind === 'output' && (stream === 'stdout' || stream === 'stderr') && bytes instanceof Uint8Array)
    return { kind, id, stream, bytes };
  if (kind === 'failed' && typeof code === 'string' && typeof said === 'string')
    return { kind, id, code, message: said };
  if (kind === 'ended' && typeof status === 'number' && stdout instanceof Uint8Array && stderr instanceof Uint8Array) {
    return { kind, id, status, stdout, stderr, cut: cut === 'time' || cut === 'size' ? cut : undefined };
  }
  return undefined;
}

/** The message as an order, or undefined when it is not one. */
export function readOrder(message: unknown): Order | undefined {
  if (!isObject(message)) return undefined;
  const { kind, id, argv, input, folder, environment, timeout, most, tail, lines, umask } = message;
  if (kind === 'close') return { kind };
  if (typeof id !== 'number') return undefined;
  if (kind === 'end') return { kind, id };
  if (
    kind !== 'start' ||
    !isTextList(argv) ||
    typeof folder !== 'string' ||
    !isTextMap(environment) ||
    typeof most !== 'number'
  )
    return undefined;
  return {
    kind,
    id,
    argv,
    folder,
    environment,
    most,
    input: typeof input === 'string' ? input : undefined,
    timeout: typeof timeout === 'number' ? timeout : undefined,
    umask: typeof umask === 'number' ? umask : undefined,
    tail: tail === true,
    lines: typeof lines === 'string' ? lines : undefined,
  };
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
}

function isTextMap(value: unknown): value is Readonly<Record<string, string>> {
  return isObject(value) && Object.values(value).every((entry) => typeof entry === 'string');
}
