/** What was uploaded: the database of an old appliance, alone or in the archive of its export. */
import { gunzipSync } from 'node:zlib';
import { invalid } from '../../engine/declare/errors.ts';
import { untar } from '../../lib/tar.ts';
import { quote } from '../../lib/text.ts';

export interface Upload {
  readonly database: Buffer;
  /** The key of its secrets. */
  readonly secret: Buffer | undefined;
  /** Members of the archive that are not read. */
  readonly ignored: readonly string[];
}

/** Bytes of a database. The old appliance took uploads of at most 10 MiB. */
export const mostBytes = 12 * 1024 * 1024;

const keyBytes = 32;
const refuse = (sentence: string): never => {
  throw invalid({ content: [sentence] });
};

/** Recognises by its content what was uploaded in base64, and not by its name. */
export function uploadOf(sent: string, sentKey: string | undefined): Upload {
  const content = bytesOf('content', sent);
  const separateKey = sentKey === undefined || sentKey === '' ? undefined : bytesOf('secret', sentKey);
  const bytes = content.subarray(0, 2).toString('latin1') === '\x1f\x8b' ? unpacked(content) : content;
  if (isDatabase(bytes)) return { database: bytes, secret: keyFrom(separateKey, 'secret'), ignored: [] };
  const entries = untar(bytes);
  if (entries === undefined)
    return refuse(
      'Expected freenas-v1.db, an SQLite database, or the tar archive of an export. The file is neither of them.',
    );
  const found = new Map<string, Buffer>();
  const ignored: string[] = [];
  for (const { name, kind, content: body } of entries) {
    const plain = name.replace(/^(?:\.\/)+/, '');
    if (plain.startsWith('/') || plain.split('/').includes('..'))
      return refuse(`The archive has a member with the path ${quote(name)}, which leads out of it. It was not read.`);
    if (kind === 'folder' || plain === '') continue;
    if (plain !== 'freenas-v1.db' && plain !== 'pwenc_secret') ignored.push(plain);
    else if (kind !== 'file') return refuse(`${quote(plain)} in the archive is a link. Expected a regular file.`);
    else found.set(plain, body);
  }
  const database = found.get('freenas-v1.db');
  if (database === undefined) return refuse('The archive has no freenas-v1.db.');
  if (!isDatabase(database)) return refuse('freenas-v1.db in the archive is no SQLite database.');
  const inside = found.get('pwenc_secret');
  const secret =
    inside === undefined ? keyFrom(separateKey, 'secret') : keyFrom(inside, 'content', 'pwenc_secret in the archive');
  return { database: Buffer.from(database), secret, ignored };
}

/** Checked first: Buffer reads what is no base64 without a word. */
function bytesOf(field: string, given: string): Buffer {
  const plain = given.replaceAll(/\s/g, '');
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(plain) || plain.length % 4 !== 0) throw invalid({ [field]: ['Expected base64.'] });
  return Buffer.from(plain, 'base64');
}

function unpacked(content: Buffer): Buffer {
  try {
    return gunzipSync(content, { maxOutputLength: 2 * mostBytes });
  } catch {
    return refuse(`The file is compressed, and cannot be unpacked to at most ${2 * mostBytes} bytes.`);
  }
}

const isDatabase = (bytes: Buffer) => bytes.subarray(0, 16).toString('latin1') === 'SQLite format 3\0';

function keyFrom(bytes: Buffer | undefined, field: string, what = 'The key'): Buffer | undefined {
  if (bytes === undefined) return undefined;
  if (bytes.length === keyBytes) return Buffer.from(bytes);
  throw invalid({ [field]: [`${what} has ${bytes.length} bytes. Expected pwenc_secret, which has ${keyBytes}.`] });
}
