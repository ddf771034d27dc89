import type { Host } from '../../host/ports/index.ts';

export const hostIdFile = '/etc/hostid';

/** The number by which ZFS tells machines apart, in hexadecimal digits; empty on a machine without one. */
export async function hostIdOf({ files }: Pick<Host, 'files'>): Promise<string> {
  const bytes = Buffer.from((await files.read(hostIdFile, { encoding: 'base64' })) ?? '', 'base64');
  return bytes.length === 4 && bytes.readUInt32LE() !== 0 ? bytes.readUInt32LE().toString(16).padStart(8, '0') : '';
}
