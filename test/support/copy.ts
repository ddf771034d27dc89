import {
  chmodSync,
  copyFileSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
} from 'node:fs';

/**
 * Copies a folder with permissions and times, and replaces nothing. `cp -a` does the same, but a process of a test has
 * hundreds of megabytes, and to start a program from it takes ten times as long as to copy the state of an appliance.
 * `fs.cp` does not keep the permissions of folders.
 */
export function copyFolder(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [`${from}/${entry.name}`, `${to}/${entry.name}`];
    if (entry.isDirectory()) {
      copyFolder(source, target);
      continue;
    }
    if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else copyFileSync(source, target);
    copyTimes(source, target);
  }
  chmodSync(to, lstatSync(from).mode);
  copyTimes(from, to);
}

function copyTimes(from: string, to: string): void {
  const { atime, mtime } = lstatSync(from);
  lutimesSync(to, atime, mtime);
}
