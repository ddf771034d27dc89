/** The path without `.`, `..`, repeated and trailing slashes. `..` does not go above the root. */
export function normalPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') parts.pop();
    else parts.push(part);
  }
  const normal = `/${parts.join('/')}`;
  // The same text, because thousands of records keep both.
  return normal === path ? path : normal;
}

/** Whether `path` is `folder` or is below it. Both are normalized paths, or names of datasets. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
}

export function lastElement(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The parent folder; `/` for paths at the top level. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}
