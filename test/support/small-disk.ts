import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, statfs, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';

/** A file system in memory at a folder, in a mount namespace of its own: only who enters it, or looks by `path`, sees it. */
export interface SmallDisk extends AsyncDisposable {
  /** The words before a command that is to run there. */
  readonly within: readonly string[];
  /** How this process reaches the folder. */
  readonly path: string;
  /** Leaves no free byte. */
  fill(): Promise<void>;
  /** Takes what `fill` wrote away again. */
  empty(): Promise<void>;
  remount(mode: 'ro' | 'rw'): Promise<void>;
}

/** Needs no rights where users may make namespaces, as on Debian; where they may not, the failure says so. */
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
      await writeFile(filler, Buffer.alloc(bfree * bsize), { flag: 'a' });
    },
    empty: () => rm(filler),
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
