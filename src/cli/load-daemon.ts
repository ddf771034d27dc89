import type * as Daemon from './daemon.ts';

/** Loads the server, which is many times as large as all other commands together. A bundle has kept-code.ts for this. */
export const loadDaemon = (): Promise<typeof Daemon> => import('./daemon.ts');
