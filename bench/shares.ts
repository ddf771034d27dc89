/** A state folder with a volume and many shares, made through the engine: all that a change checks and does, done. */
import { join } from 'node:path';
import { buildApp } from '../src/app.ts';
import { cifsShare } from '../src/areas/sharing/cifs.ts';
import { openVirtualHost } from '../src/host/virtual/index.ts';
import { Store } from '../src/store/store.ts';
import { password } from './processes.ts';

const asker = { actor: 'bench', request: 'shares' };
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const perChange = 500;

export async function makeShares(state: string, count: number): Promise<void> {
  const disks = Array<number>(4).fill(2 * 1024 ** 3);
  const host = await openVirtualHost({ folder: join(state, 'virtual'), disks, now: Date.now });
  const app = await buildApp({ host, store: Store.open(state), log: quiet, now: Date.now, profile: 'document', version: 'bench', rootPassword: password });
  try {
    const names = (await host.disks.list()).map(({ name }) => name);
    await inject(app, 'POST', 'storage/volume/', { volume_name: 'tank', layout: [{ vdevtype: 'raidz', disks: names }] });
    await inject(app, 'PUT', 'services/services/cifs/', { srv_enable: true });
    for (let first = 0; first < count; first += perChange) {
      await app.engine.change(`create shares from ${first} on`, asker, (draft) => {
        for (let index = first; index < Math.min(first + perChange, count); index += 1) {
          const name = `share-${String(index).padStart(5, '0')}`;
          draft.create(cifsShare, { cifs_path: `/mnt/tank/${name}`, cifs_name: name, cifs_comment: `Files of team ${index}` });
        }
      });
    }
  } finally {
    await app.close();
  }
}

async function inject({ server }: Awaited<ReturnType<typeof buildApp>>, method: 'POST' | 'PUT', path: string, body: object): Promise<void> {
  const authorization = `Basic ${Buffer.from(`root:${password}`).toString('base64')}`;
  const answer = await server.inject({ method, url: `/api/v1.0/${path}`, headers: { authorization, 'content-type': 'application/json' }, payload: JSON.stringify(body) });
  if (answer.statusCode >= 300) throw new Error(`${method} ${path} answered ${answer.statusCode}: ${answer.body}`);
}
