import { createPrivateKey } from 'node:crypto';
import type { Outcome } from '../ports/commands.ts';
import { numberKeywords, otherKeywords, switchKeywords } from './sshd.vocabulary.ts';

type Read = (path: string) => string | undefined;

const fold = (names: string): ReadonlySet<string> => new Set(names.trim().toLowerCase().split(/\s+/));

const yesOrNo = fold(switchKeywords);
const numbers = fold(numberKeywords);
const others = fold(otherKeywords);

/** A model of `sshd -G -f FILE`, which reads to the end and counts unknown keywords. */
export function sshdTest(file: string, read: Read): Outcome {
  const content = read(file);
  if (content === undefined) return refusal([`${file}: No such file or directory`]);
  const unknown: string[] = [];
  for (const [index, line] of content.split('\n').entries()) {
    const [, keyword = '', value = ''] = /^\s*([^\s=#]*)\s*=?\s*(.*?)\s*$/.exec(line) ?? [];
    if (keyword === '' || line.trim().startsWith('#')) continue;
    const name = keyword.toLowerCase();
    const location = `${file} line ${index + 1}`;
    if (!yesOrNo.has(name) && !numbers.has(name) && !others.has(name))
      unknown.push(`${file}: line ${index + 1}: Bad configuration option: ${keyword}`);
    else if (value === '') return refusal([...unknown, `${location}: no argument after keyword "${keyword}"`]);
    else if (yesOrNo.has(name) && !/^"?(yes|no)"?$/i.test(value))
      return refusal([...unknown, `${location}: unsupported option "${value}".`]);
    else if (numbers.has(name) && !/^"?\d+"?$/.test(value))
      return refusal([
        ...unknown,
        name === 'port'
          ? `${location}: Badly formatted port number.`
          : `${location}: ${keyword} integer value invalid.`,
      ]);
  }
  return unknown.length === 0
    ? { status: 0, stdout: '', stderr: '' }
    : refusal([...unknown, `${file}: terminating, ${unknown.length} bad configuration options`]);
}

/** A model of `ssh-keygen -y -P '' -f FILE`. */
export function readKey(file: string, read: Read): Outcome {
  const content = read(file) ?? '';
  return isKey(content)
    ? { status: 0, stdout: 'ssh-ed25519 AAAA\n', stderr: '' }
    : refusal([`Load key "${file}": error in libcrypto`]);
}

function isKey(content: string): boolean {
  const own = /^-----BEGIN OPENSSH PRIVATE KEY-----\n([A-Za-z0-9+/=\n]+)-----END OPENSSH PRIVATE KEY-----\n$/.exec(
    content,
  )?.[1];
  if (own !== undefined) return Buffer.from(own, 'base64').toString('latin1').startsWith('openssh-key-v1\0');
  try {
    createPrivateKey(content);
    return true;
  } catch {
    return false;
  }
}

function refusal(lines: readonly string[]): Outcome {
  return { status: 255, stdout: '', stderr: lines.map((line) => `${line}\r\n`).join('') };
}
