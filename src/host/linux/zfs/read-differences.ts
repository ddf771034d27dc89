import type { Difference } from '../../ports/zfs.ts';

const changes: Readonly<Record<string, Difference['change']>> = {
  '+': 'added',
  '-': 'removed',
  M: 'changed',
  R: 'renamed',
};

const kinds: Readonly<Record<string, Difference['kind']>> = { F: 'file', '/': 'folder', '@': 'link' };

/**
 * A line of `zfs diff -FH`: change, kind, path, and of a renamed file its later path. Of a file with another number of
 * hard links, the fourth column is the difference of that number. For example:
 *
 *     M       /       /mnt/tank/
 *     R       F       /mnt/tank/draft /mnt/tank/final\0040text
 *     M       F       /mnt/tank/both  (+1)
 */
export function readDifference(line: string, mountpoint: string): Difference | undefined {
  const [sign = '', type = '', path = '', last = ''] = line.split('\t');
  const change = changes[sign];
  if (change === undefined) return undefined;
  const below = (escaped: string) =>
    plain(escaped)
      .slice(mountpoint.length)
      .replace(/^\/|\/$/g, '');
  const kind = kinds[type] ?? 'other';
  return { change, kind, path: below(path), ...(change === 'renamed' ? { to: below(last) } : {}) };
}

/** ZFS writes each byte that is not printable ASCII, and the backslash, as a backslash with four octal digits. */
function plain(escaped: string): string {
  if (!escaped.includes('\\')) return escaped;
  const bytes = escaped.split(/(\\[0-7]{4})/).map((part) => {
    const code = /^\\([0-7]{4})$/.exec(part)?.[1];
    return code === undefined ? Buffer.from(part) : Buffer.from([Number.parseInt(code, 8)]);
  });
  return Buffer.concat(bytes).toString();
}
