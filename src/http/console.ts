import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { contentPolicy } from './documentation.ts';
import type { Exchange, Sent } from './exchange.ts';

/** A file of the console, in memory and compressed. */
export interface ConsoleFile {
  readonly type: string;
  readonly plain: Buffer;
  readonly gzip: Buffer;
  readonly brotli: Buffer;
  readonly etag: string;
  /** Whether its name has the digest of its content, so that a browser may keep it forever. */
  readonly isImmutable: boolean;
}

/** By the path in an address: `/` is the page, everything else is below `/console/`. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>;

export const noConsole = (): ConsoleFiles => new Map();

const page = 'index.html';
const folderPath = '/console/';
const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/**
 * The files that scripts/console.ts has written into a folder; none if there is no such folder. They are read at the first
 * call, all at once: an upgrade replaces them, and a page fits only the scripts that it was built with.
 */
export function consoleIn(folder: string): () => ConsoleFiles {
  let files: ConsoleFiles | undefined;
  return () => {
    files ??= readConsole(folder);
    return files;
  };
}

function readConsole(folder: string): ConsoleFiles {
  const names = readNames(folder);
  const read = (name: string) => readFileSync(`${folder}/${name}`);
  return new Map(
    names
      .filter((name) => types[extensionOf(name)] !== undefined)
      .map((name) => [
        pathOf(name),
        consoleFile(name, { plain: read(name), gzip: read(`${name}.gz`), brotli: read(`${name}.br`) }),
      ]),
  );
}

function readNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

const extensionOf = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

export const pathOf = (name: string): string => (name === page ? '/' : `${folderPath}${name}`);

export function consoleFile(name: string, content: Pick<ConsoleFile, 'plain' | 'gzip' | 'brotli'>): ConsoleFile {
  return Object.freeze({
    ...content,
    type: types[extensionOf(name)] ?? 'application/octet-stream',
    etag: `"${createHash('sha256').update(content.plain).digest('base64url').slice(0, 27)}"`,
    isImmutable: name !== page,
  });
}

/**
 * The file that a request asks for. The page and its scripts are the same for everybody and have no data, so that they need
 * no credential: a browser gets them before the sign-in.
 */
export function consoleFileOf(files: () => ConsoleFiles, { method, path }: Exchange): ConsoleFile | undefined {
  if (method !== 'GET' && method !== 'HEAD') return undefined;
  return path === '/' || path.startsWith(folderPath) ? files().get(path) : undefined;
}

export function consoleAnswer(file: ConsoleFile, request: IncomingHttpHeaders): Sent {
  const { type, etag, isImmutable } = file;
  const headers = {
    etag,
    vary: 'Accept-Encoding',
    'cache-control': isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    'content-security-policy': contentPolicy,
    'referrer-policy': 'no-referrer',
  };
  if (request['if-none-match'] === etag) return { status: 304, headers };
  const accepted = String(request['accept-encoding'] ?? '');
  const encoding = /\bbr\b/.test(accepted) ? 'br' : /\bgzip\b/.test(accepted) ? 'gzip' : undefined;
  if (encoding === undefined) return { status: 200, headers, type, body: file.plain };
  const body = encoding === 'br' ? file.brotli : file.gzip;
  return { status: 200, headers: { ...headers, 'content-encoding': encoding }, type, body };
}
