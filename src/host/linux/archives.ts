import { readFile, rm, stat } from 'node:fs/promises';
import { HostError } from '../ports/index.ts';
import type { Watch } from '../ports/jails.ts';
import { expectSuccess, messageOfProgram, type Runner } from './runner.ts';

/** Milliseconds that fetching and unpacking may take. */
export const longWork = 2 * 60 * 60_000;

/** curl's exit statuses when nothing is at an address: by HTTP, on an FTP server, in a file. */
const nothingThere: ReadonlySet<number> = new Set([22, 37, 78]);

/** The output of a program that may take as long and has to succeed. */
export async function longOutput(runner: Runner, ...argv: readonly string[]): Promise<string> {
  return expectSuccess(await runner.run(argv, { timeout: longWork }), argv).stdout;
}

export interface Wanted {
  readonly url: string;
  readonly file: string;
  /** Bytes. */
  readonly most: number;
}

/**
 * Fetches an archive into a file, and compares it with the `.sha256` file beside it. An archive that comes without TLS
 * over the network must have one; for others it is optional.
 */
export async function fetchArchive(runner: Runner, wanted: Wanted, watch: Watch): Promise<void> {
  await fetch(runner, wanted, watch);
  await verify(runner, wanted, watch);
}

async function fetch(runner: Runner, { url, file, most }: Wanted, watch: Watch): Promise<void> {
  watch.progress(`fetching ${url}`);
  const counting = setInterval(() => {
    stat(file).then(
      ({ size }) => watch.progress(`fetching ${url}: ${Math.floor(size / 1024 ** 2)} MiB so far`),
      () => {},
    );
  }, 2000);
  try {
    const outcome = await runner.run(curlWords(url, file, most), { timeout: longWork });
    if (outcome.status !== 0)
      throw new HostError(
        `cannot fetch ${url}: ${messageOfProgram(outcome) || `curl ended with the status ${outcome.status}`}`,
      );
  } finally {
    clearInterval(counting);
  }
}

async function verify(runner: Runner, { url, file: archive }: Wanted, watch: Watch): Promise<void> {
  watch.progress(`looking for a checksum of ${url}`);
  const file = `${archive}.sha256`;
  const outcome = await runner.run(curlWords(`${url}.sha256`, file, 4096), { timeout: longWork });
  if (nothingThere.has(outcome.status)) {
    if (!isOpen(url)) return;
    throw new HostError(
      `${url} has no checksum: expected one in ${url}.sha256, which is required for an archive that is fetched without TLS`,
    );
  }
  if (outcome.status !== 0) throw new HostError(`cannot fetch ${url}.sha256: ${messageOfProgram(outcome)}`);
  const wanted = /\b[0-9a-f]{64}\b/i.exec(await readFile(file, 'utf8'))?.[0]?.toLowerCase();
  await rm(file, { force: true });
  const found = /^\\?([0-9a-f]{64})/.exec(await longOutput(runner, 'sha256sum', '--', archive))?.[1];
  if (wanted !== found)
    throw new HostError(
      `${url} does not match its checksum: expected ${wanted ?? 'a SHA-256 checksum'} by ${url}.sha256, got ${found}`,
    );
}

/** Whether the archive comes over the network without TLS. */
function isOpen(url: string): boolean {
  return /^(http|ftp):/i.test(url);
}

/** Allows only the protocols that an archive may be fetched by. A redirect must not lead out of TLS. */
function curlWords(url: string, file: string, most: number): readonly string[] {
  return [
    'curl',
    '--fail',
    '--silent',
    '--show-error',
    '--location',
    '--proto',
    '=http,https,ftp,file',
    '--proto-redir',
    isOpen(url) ? '=http,https,ftp' : '=https',
    '--connect-timeout',
    '30',
    '--max-filesize',
    String(most),
    '--globoff',
    '--output',
    file,
    '--',
    url,
  ];
}
