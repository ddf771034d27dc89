import { readdir, readFile, readlink, realpath } from 'node:fs/promises';
import type { Process } from '../ports/machine.ts';

/** The processes that have one of these paths, or something below it, open, as their working folder or as their root. */
export async function processesUsing(paths: readonly string[], proc = '/proc'): Promise<readonly Process[]> {
  // The device of a zvol is a link to what the kernel calls it.
  const places = await Promise.all(paths.map((path) => realpath(path).catch(() => path)));
  if (places.length === 0) return [];
  const ids = (await readdir(proc)).filter((name) => /^\d+$/.test(name));
  const found: Process[] = [];
  for (const id of ids) {
    const links = await linksOf(`${proc}/${id}`);
    if (!links.some((link) => places.some((place) => link === place || link.startsWith(`${place}/`)))) continue;
    const name = await readFile(`${proc}/${id}/comm`, 'utf8').catch(() => '');
    found.push({ id: Number(id), name: name.trim() || `process ${id}` });
    if (found.length === most) break;
  }
  return found;
}

/** Processes that an answer names at most. */
const most = 20;

/** What a process has open. It can end meanwhile. */
async function linksOf(folder: string): Promise<readonly string[]> {
  const open = await readdir(`${folder}/fd`).catch(() => []);
  const links = ['cwd', 'root', ...open.map((fd) => `fd/${fd}`)];
  return Promise.all(links.map((link) => readlink(`${folder}/${link}`).catch(() => '')));
}
