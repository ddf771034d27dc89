import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, statfs, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';

/**
 * A file system in memory mounted on a folder in its own mount namespace, visible only inside the namespace and by
 * `path`.
 */
export interface SmallDisk extends AsyncDisposable {
  /** The argv prefix that runs a command in the namespace. */
  readonly within: readonly string[];
  /** The path of the folder for this process. */
  readonly path: string;
  /** Fills the file system completely. */
  fill(): Promise<void>;
  /** Removes the files of `fill`. */
  empty(): Promise<void>;
  remount(mode: 'ro' | 'rw'): Promise<void>;
}

/** Needs no root where users may create namespaces, as on Debian; the error message reports where they may not. */
export async function smallDisk(folder: string, mebibytes: number): Promise<SmallDisk> {
  const script = 'mount -t tmpfs -o size="$2"m,mode=700 tmpfs "$1" && echo ready && exec sleep infinity';
  const holder = spawn(
    'unshare',
    ['--user', '--map-root-user', '--mount', 'sh', '-c', script, 'sh', folder, String(mebibytes)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const ended = once(holder, 'close');
  const ready = once(createInterface({ input: holder.stdout }), 'line');
  await Promise.race([
    ready,
    ended.then(() => {
      throw new Error(
        'this test mounts a small file system in a namespace of its own, which this machine does not permit',
      );
    }),
  ]);
  const within = ['nsenter', `--target=${holder.pid}`, '--user', '--mount', '--preserve-credentials'];
  const path = `/proc/${holder.pid}/root${folder}`;
  const filler = `${path}/filler`;
  return {
    within,
    path,
    async fill() {
      const { bfree, bsize } = await statfs(path);
      // A daemon that works meanwhile may take some of the space.
      await writeFile(filler, Buffer.alloc(bfree * bsize), { flag: 'a' }).catch((error: unknown) => {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
      });
    },
    empty: () => rm(filler, { force: true }),
    async remount(mode) {
      const [program = '', ...words] = [...within, 'mount', '-o', `remount,${mode}`, folder];
      const [code] = await once(spawn(program, words, { stdio: 'inherit' }), 'close');
      if (code !== 0) throw new Error(`mount ended with ${code}`);
    },
    async [Symbol.asyncDispose]() {
      holder.kill('SIGKILL');
      await ended;
    },
  };
}
