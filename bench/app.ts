/** A daemon in this process, on a virtual host. */
import { join } from 'node:path';
import { type App, buildApp } from '../src/app.ts';
import type { Host } from '../src/host/ports/index.ts';
import { openVirtualHost } from '../src/host/virtual/index.ts';
import { Store } from '../src/store/store.ts';
import { programs } from '../src/subsystems/index.ts';
import { password } from './processes.ts';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

export function appOn(host: Host, state: string): Promise<App> {
  return buildApp({
    host,
    store: Store.open(state),
    log: quiet,
    now: Date.now,
    profile: 'document',
    version: 'bench',
    rootPassword: password,
  });
}

/** On a host with one disk. `through` can stand between it and the daemon. */
export async function openApp(state: string, through: (host: Host) => Host = (host) => host): Promise<App> {
  const host = await openVirtualHost({ programs, folder: join(state, 'virtual'), disks: [1024 ** 4], now: Date.now });
  return appOn(through(host), state);
}
