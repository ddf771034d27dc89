/**
 * Makes `started.squashfs`, the layer with everything that the package's configuration and Holdfast's first start write
 * in a machine. Machines that have it above the package's layer (`lab/layer`) begin with Holdfast's second start, which
 * needs a fraction of the time. Run by bin/test, enclosed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rename, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { startNas } from '../test/support/lab/nas.ts';
import { addressOn } from '../test/support/lab/network.ts';
import { built } from '../test/support/lab/place.ts';

const port = 8090;
const layer = join(built, 'started.squashfs');
const unfinished = join(built, 'started.new');

/** Listens for the archive that a machine sends to this side, and makes a file of squashfs of it. */
async function listen(): Promise<{ readonly received: Promise<void> }> {
  await rm(unfinished, { force: true });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    // Not compressed, like the image: machines start faster.
    const words = [unfinished, '-noI', '-noD', '-noF', '-noX', '-quiet', '-no-progress'];
    const packing = spawn('sqfstar', words, { stdio: ['pipe', 'ignore', 'inherit'] });
    packing.once('error', reject);
    packing.once('close', (status) => {
      response.end();
      if (status === 0) resolve();
      else reject(new Error(`sqfstar ended with ${status}`));
    });
    await pipeline(request, packing.stdin).catch(reject);
  });
  server.listen(port, '0.0.0.0');
  await once(server, 'listening');
  return { received: promise.finally(() => server.close()) };
}

await using nas = await startNas({ disks: 0, installation: 'configured' });
await nas.machine.run('systemctl stop holdfast');
const { received } = await listen();
// The folder with all changes to the image. Of overlayfs's own attributes, only the mark of a folder that hides the one
// below it has a meaning in another machine.
await nas.machine.run(
  `tar --create --one-file-system --xattrs --xattrs-include=trusted.overlay.opaque --directory=/.system/u . |
    curl --silent --show-error --fail --upload-file - http://${addressOn(0, 2)}:${port}/`,
);
await received;
await rename(unfinished, layer);
