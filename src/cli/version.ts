import { readFileSync } from 'node:fs';

/** Imports nothing of ours, so that the bundle has it in the file of the entry. Reads package.json, which is one level above the bundle and two levels above this file. */
export function version(): string {
  for (const path of ['../package.json', '../../package.json']) {
    try {
      const found: unknown = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
      if (
        typeof found === 'object' &&
        found !== null &&
        'name' in found &&
        'version' in found &&
        found.name === 'holdfast'
      )
        return String(found.version);
    } catch {
      // Try the other path.
    }
  }
  return 'unknown';
}
