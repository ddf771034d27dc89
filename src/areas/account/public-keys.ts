import { quote } from '../../lib/text.ts';

const kinds =
  'ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp256|ecdsa-sha2-nistp384|ecdsa-sha2-nistp521|sk-ssh-ed25519@openssh\\.com|sk-ecdsa-sha2-nistp256@openssh\\.com';

/** Options, which may hold quoted blanks; the kind; the key; a comment. */
const keyLine = new RegExp(
  `^(?:(?!(?:${kinds}) )(?:[^\\s"]|"(?:[^"\\\\]|\\\\.)*")+ )?(${kinds}) ([A-Za-z0-9+/]+={0,2})(?: .*)?$`,
);

const startsLine = new RegExp(`(?:^|\\s)(?:${kinds})\\s|^#`);

/**
 * The lines of `authorized_keys` in what a person pasted (gaps 10.1): blanks and blank lines are squeezed, and lines
 * that a window has wrapped are joined. Each ends with a line end; of nothing there is nothing.
 */
export function keyLines(text: string): string {
  const lines: string[] = [];
  for (const line of text.split(/\r?\n/).map((one) => one.trim().replaceAll(/[ \t]+/g, ' '))) {
    if (line === '') continue;
    const last = lines.at(-1);
    if (last === undefined || startsLine.test(line) || last.startsWith('#')) lines.push(line);
    else lines[lines.length - 1] = last + line;
  }
  return lines.map((line) => `${line}\n`).join('');
}

/** What keeps a text from being a list of public keys, or nothing. */
export function publicKeysProblem(text: string): string | undefined {
  for (const line of keyLines(text).split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const [, kind = '', key = ''] = keyLine.exec(line) ?? [];
    if (kind === '' || !namesItself(key, kind))
      return `${quote(line.length > 60 ? `${line.slice(0, 60)}…` : line)} is no public key of SSH, as in "ssh-ed25519 AAAA… name".`;
  }
  return undefined;
}

/** A key begins with the length and the name of its kind. */
function namesItself(key: string, kind: string): boolean {
  const bytes = Buffer.from(key, 'base64');
  return (
    bytes.length > 4 + kind.length &&
    bytes.readUInt32BE(0) === kind.length &&
    bytes.subarray(4, 4 + kind.length).toString('latin1') === kind
  );
}
