/** The path without `.`, `..`, repeated and trailing slashes; `..` never climbs above the root. */
export function normalPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') parts.pop();
    else parts.push(part);
  }
  return `/${parts.join('/')}`;
}

/** Whether `path` is `folder` or lies below it. Both are normal paths. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
}

export function lastElement(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The folder that the last element lies in: `/` for those at the top. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}
