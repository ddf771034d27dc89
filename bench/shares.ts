/** A state folder with a volume and many shares, made by changes of the engine with all their checks. */
import { join } from 'node:path';
import { afpShare } from '../src/areas/sharing/afp.ts';
import { cifsShare } from '../src/areas/sharing/cifs.ts';
import { nfsShare } from '../src/areas/sharing/nfs.ts';
import type { Draft } from '../src/engine/declare/resource.ts';
import { openVirtualHost } from '../src/host/virtual/index.ts';
import { programs } from '../src/subsystems/index.ts';
import { appOn } from './app.ts';
import { send } from './send.ts';

const context = { actor: 'bench', request: 'shares' };
const perChange = 500;

const protocols = ['cifs', 'afp', 'nfs'] as const;
export type Protocol = (typeof protocols)[number];

export function protocolNamed(name: string): Protocol {
  const found = protocols.find((one) => one === name);
  if (found === undefined) throw new Error(`expected ${protocols.join(', ')}, got ${name}`);
  return found;
}

export interface Share {
  /** The body for `sharing/<protocol>/`. */
  readonly body: Readonly<Record<string, unknown>>;
  put(draft: Draft): void;
}

/** The share with this number. All shares differ; NFS shares of one dataset have different hosts. */
export function shareOf(protocol: Protocol, index: number, path = `/mnt/tank/share-${digits(index)}`): Share {
  const name = `share-${digits(index)}`;
  const comment = `Files of team ${index}`;
  switch (protocol) {
    case 'cifs': {
      const body = { cifs_path: path, cifs_name: name, cifs_comment: comment };
      return { body, put: (draft) => void draft.create(cifsShare, body) };
    }
    case 'afp': {
      const body = { afp_path: path, afp_name: name, afp_comment: comment };
      return { body, put: (draft) => void draft.create(afpShare, body) };
    }
    case 'nfs': {
      const body = {
        nfs_paths: [path],
        nfs_comment: comment,
        nfs_hosts: `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`,
      };
      return { body, put: (draft) => void draft.create(nfsShare, body) };
    }
  }
}

function digits(index: number): string {
  return String(index).padStart(5, '0');
}

export async function makeShares(
  state: string,
  count: number,
  protocol: Protocol = 'cifs',
  diskCount = 4,
): Promise<void> {
  const disks = Array<number>(diskCount).fill(2 * 1024 ** 3);
  const host = await openVirtualHost({ programs, folder: join(state, 'virtual'), disks, now: Date.now });
  const app = await appOn(host, state);
  try {
    const names = (await host.disks.list()).map(({ name }) => name);
    await send(app, 'POST', 'storage/volume/', {
      volume_name: 'tank',
      layout: [{ vdevtype: 'raidz', disks: names.slice(0, 4) }],
    });
    await send(app, 'PUT', `services/services/${protocol}/`, { srv_enable: true });
    for (let first = 0; first < count; first += perChange) {
      await app.engine.change(`create shares from ${first} on`, context, (draft) => {
        for (let index = first; index < Math.min(first + perChange, count); index += 1)
          shareOf(protocol, index).put(draft);
      });
    }
  } finally {
    await app.close();
  }
}
