import { normalPath } from '../../../lib/path.ts';
import { HostError } from '../../ports/index.ts';

export function mustBePoolName(name: string): void {
  const refuse = (reason: string) => new HostError(`cannot create '${name}': ${reason}`);
  if (!/^[A-Za-z]/.test(name)) throw refuse('name must begin with a letter');
  const stray = /[^-A-Za-z0-9_.: ]/.exec(name);
  if (stray !== null) throw refuse(`invalid character '${stray[0]}' in pool name`);
  if (name.length > 255) throw refuse('name is too long');
  if (/^(mirror|raidz|draid|spare)/.test(name) || name === 'log') throw refuse('name is reserved');
}

export function mustBeDatasetName(name: string): void {
  const refuse = (reason: string) => new HostError(`cannot create '${name}': ${reason}`);
  if (name.length > 255) throw refuse('name is too long');
  const stray = /[^-A-Za-z0-9_.: /]/.exec(name);
  if (stray !== null) throw refuse(`invalid character '${stray[0]}' in name`);
  const parts = name.split('/');
  if (parts.at(-1) === '') throw refuse('trailing slash in name');
  if (parts.includes('')) throw refuse('empty component in name');
  if (parts.includes('.')) throw refuse("self reference, '.' is found in name");
  if (parts.includes('..')) throw refuse("parent reference, '..' is found in name");
}

export function poolNameOf(dataset: string): string {
  const slash = dataset.indexOf('/');
  return slash < 0 ? dataset : dataset.slice(0, slash);
}

export function partsOf(fullName: string, message: string): readonly [string, string] {
  const at = fullName.indexOf('@');
  if (at < 0 || fullName.indexOf('@', at + 1) >= 0) throw new HostError(`${message}: '${fullName}' is no snapshot`);
  return [fullName.slice(0, at), fullName.slice(at + 1)];
}

export function deviceOf(name: string): string {
  return `/dev/zvol/${name}`;
}

export function checkedMountpoint(text: string): string {
  if (text === 'none' || text === 'legacy') return text;
  if (!text.startsWith('/')) throw new HostError("'mountpoint' must be an absolute path, 'none', or 'legacy'");
  return normalPath(text);
}
