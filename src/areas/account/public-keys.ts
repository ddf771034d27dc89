import { quote } from '../../lib/text.ts';

const kinds =
  'ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp256|ecdsa-sha2-nistp384|ecdsa-sha2-nistp521|sk-ssh-ed25519@openssh\\.com|sk-ecdsa-sha2-nistp256@openssh\\.com';

/** Options, which may contain quoted spaces; the key type; the key; a comment. */
const keyLine = new RegExp(
  `^(?:(?!(?:${kinds}) )(?:[^\\s"]|"(?:[^"\\\\]|\\\\.)*")+ )?(${kinds}) ([A-Za-z0-9+/]+={0,2})(?: .*)?$`,
);

const startsLine = new RegExp(`(?:^|\\s)(?:${kinds})\\s|^#`);

/**
 * Normalizes pasted text to lines of `authorized_keys` (gaps 10.1): collapses repeated spaces, drops empty lines and
 * joins lines that a terminal has wrapped. Each line ends with a newline; empty text stays empty.
 */
export function keyLines(text: string): string {
  const lines: string[] = [];
  for (const line of text.split(/\r?\n/).map((raw) => raw.trim().replaceAll(/[ \t]+/g, ' '))) {
    if (line === '') continue;
    const last = lines.at(-1);
    if (last === undefined || startsLine.test(line) || last.startsWith('#')) lines.push(line);
    else lines[lines.length - 1] = last + line;
  }
  return lines.map((line) => `${line}\n`).join('');
}

/** The problem with a list of public keys, or undefined if it is valid. */
export function publicKeysProblem(text: string): string | undefined {
  for (const line of keyLines(text).split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const [, kind = '', key = ''] = keyLine.exec(line) ?? [];
    if (kind === '' || !matchesKind(key, kind))
      return `Expected an SSH public key such as "ssh-ed25519 AAAA… name", got ${quote(line.length > 60 ? `${line.slice(0, 60)}…` : line)}.`;
  }
  return undefined;
}

/** The encoded key begins with the length and the name of its type. */
function matchesKind(key: string, kind: string): boolean {
  const bytes = Buffer.from(key, 'base64');
  return (
    bytes.length > 4 + kind.length &&
    bytes.readUInt32BE(0) === kind.length &&
    bytes.subarray(4, 4 + kind.length).toString('latin1') === kind
  );
}
