/** What `holdfast doctor` examines by itself on this machine: what a daemon that does not run cannot report. */
import { execFile } from 'node:child_process';
import { readdirSync, type Stats, statfsSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isObject } from '../../lib/json.ts';
import { showSize } from '../../lib/size.ts';
import { messageOf } from '../../lib/text.ts';
import type { Settings } from '../settings.ts';
import type { Connection } from './connection.ts';
import { shellLine } from './remedy.ts';

export interface LocalFinding {
  readonly severity: 'info' | 'warning' | 'critical';
  readonly about: string;
  readonly message: string;
  readonly command: string;
}

/** The machine that the command runs on. */
export interface Here {
  readonly settings: Settings;
  readonly connection: Connection;
  /** Version of the program whose command this is. */
  readonly version: string;
  /** Whether the daemon answers. */
  readonly runs: boolean;
}

export interface LocalCheck {
  readonly name: string;
  readonly title: string;
  look(here: Here): Promise<readonly LocalFinding[]>;
}

/** In the order in which they are shown. `settings` is checked when they are read. */
export const localChecks: readonly LocalCheck[] = [
  { name: 'rights', title: 'Only the daemon can read its state folder.', look: async (here) => rightsFindings(here) },
  { name: 'disk', title: 'The disk of the state folder has space.', look: async (here) => diskFindings(here) },
  { name: 'state', title: 'The stored configuration is whole.', look: stateFindings },
  { name: 'port', title: 'The port of the interface is free for the daemon.', look: portFindings },
  { name: 'daemon', title: 'The daemon runs and answers.', look: daemonFindings },
  { name: 'version', title: 'The daemon that runs is the one that is installed.', look: versionFindings },
];

export const settingsCheck = { name: 'settings', title: 'The settings of the daemon are valid.' } as const;

/** Milliseconds in which a daemon that runs answers the simplest request. */
const patience = 5000;

export async function isAnswering(connection: Connection): Promise<boolean> {
  const answer = connection.send('GET', 'healthz').then(
    ({ status }) => status === 200,
    () => false,
  );
  return Promise.race([answer, pause(patience, false, { ref: false })]);
}

// Rights -------------------------------------------------------------------------------------------------------------

function rightsFindings({ settings: { state } }: Here): readonly LocalFinding[] {
  const folder = statOf(state);
  if (folder === undefined) return [];
  const found: LocalFinding[] = [];
  const name = state.replace(/\/$/, '');
  if ((folder.mode & 0o077) !== 0)
    found.push({
      severity: 'critical',
      about: state,
      message: `Other accounts can enter the state folder ${name}, which has the secrets of the configuration: expected the mode 700, got ${modeOf(folder)}.`,
      command: shellLine(['chmod', '700', name]),
    });
  const own = process.getuid?.();
  if (folder.uid !== own)
    found.push({
      severity: 'critical',
      about: state,
      message: `The state folder ${name} belongs to the account ${folder.uid}, expected ${own}.`,
      command: shellLine(['chown', '-R', `${own}:`, name]),
    });
  for (const file of filesIn(state)) {
    const entry = statOf(join(state, file));
    if (entry === undefined || !entry.isFile() || (entry.mode & 0o077) === 0) continue;
    found.push({
      severity: 'critical',
      about: join(state, file),
      message: `Other accounts can read ${join(state, file)}: expected the mode 600, got ${modeOf(entry)}.`,
      command: shellLine(['chmod', '600', join(state, file)]),
    });
  }
  return found;
}

const modeOf = ({ mode }: Stats) => (mode & 0o777).toString(8);

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // Without the right to look, another finding says so.
    return undefined;
  }
}

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

// Space and state ----------------------------------------------------------------------------------------------------

/** Bytes that the daemon needs to start and to store changes. */
const leastFree = 8 * 1024 ** 2;

function diskFindings({ settings: { state } }: Here): readonly LocalFinding[] {
  if (statOf(state) === undefined) return [];
  const { bavail, bfree, bsize, blocks } = statfsSync(state);
  const free = (process.getuid?.() === 0 ? bfree : bavail) * bsize;
  if (free >= leastFree) return [];
  const size = `${showSize(free)} of ${showSize(blocks * bsize)}`;
  return [
    {
      severity: 'critical',
      about: state,
      message: `The file system of ${state} is full: ${size} are free, expected ${showSize(leastFree)}. Nothing can be changed until there is space.`,
      command: `${shellLine(['df', '-h', state])}; journalctl --vacuum-size=200M`,
    },
  ];
}

/** A daemon that runs has opened the state, and writes to it. */
async function stateFindings({ settings, runs }: Here): Promise<readonly LocalFinding[]> {
  if (runs) return [];
  const { examine } = await import('../../store/recovery.ts');
  const { storeOptions } = await import('../serve.ts');
  const { pairKeyFile, pairOf, stateOnPool } = await import('../pair-files.ts');
  const pair = pairOf(settings.state);
  const folder = pair === undefined ? settings.state : stateOnPool(settings, pair.pool);
  // The other machine of the pair has it.
  if (pair !== undefined && statOf(folder) === undefined) return [];
  const ofPair = pair && { key: pairKeyFile(settings.state), node: pair.self };
  const { refusal } = examine(folder, { ...storeOptions(settings), ...ofPair });
  // Something has the database open, without answering: that is the finding of another check.
  if (refusal === undefined || refusal.startsWith('Another Holdfast process')) return [];
  return [{ severity: 'critical', about: folder, message: refusal, command: 'holdfast recover' }];
}

// The daemon ---------------------------------------------------------------------------------------------------------

async function portFindings({ settings: { listen }, runs }: Here): Promise<readonly LocalFinding[]> {
  if (runs || listen.port === 0) return [];
  const { address, port } = listen;
  const error = await new Promise<unknown>((resolve) => {
    const server = createServer();
    server.once('error', resolve);
    server.listen({ host: address, port }, () => server.close(() => resolve(undefined)));
  });
  if (error === undefined) return [];
  const code = isObject(error) ? error['code'] : undefined;
  const at = `${address}:${port}`;
  const finding = { severity: 'critical', about: at } as const;
  if (code === 'EADDRINUSE')
    return [
      {
        ...finding,
        message: `Another program listens on ${at}, so the daemon cannot start. End it, or set another HOLDFAST_LISTEN.`,
        command: `ss -ltnp 'sport = :${port}'`,
      },
    ];
  const message = `The daemon cannot listen on ${at}: ${messageOf(error)}. Set HOLDFAST_LISTEN to an address of this machine.`;
  return [{ ...finding, message, command: 'ip -brief address; editor /etc/holdfast/holdfast.conf' }];
}

async function daemonFindings({ settings, connection, runs }: Here): Promise<readonly LocalFinding[]> {
  if (runs) return [];
  const isLinux = settings.host === 'linux';
  const unit = isLinux ? await unitState() : undefined;
  const isUp = unit === 'active' || (await isConnectable(connection));
  const begin = isLinux ? 'systemctl start holdfast' : 'holdfast serve';
  const message = isUp
    ? `The daemon runs, but does not answer within ${patience / 1000} seconds.`
    : `The daemon does not run${unit === undefined ? '' : `: systemd reports the service as ${unit}`}.`;
  const command = isUp
    ? isLinux
      ? 'systemctl restart holdfast'
      : 'pkill -x holdfast; holdfast serve'
    : unit === 'failed'
      ? `journalctl -u holdfast -n 20; ${begin}`
      : begin;
  return [{ severity: 'critical', about: 'daemon', message, command }];
}

/** Whether something accepts connections at the socket, although it may never answer. */
async function isConnectable(connection: Connection): Promise<boolean> {
  const refused = connection.send('GET', 'healthz').then(
    () => false,
    () => true,
  );
  return !(await Promise.race([refused, pause(500, false, { ref: false })]));
}

/** `active`, `failed` and so on. */
function unitState(): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile('systemctl', ['is-active', 'holdfast'], (_error, out) => resolve(out.trim() || undefined));
  });
}

async function versionFindings({ connection, version, runs }: Here): Promise<readonly LocalFinding[]> {
  if (!runs) return [];
  const { value } = await connection.send('GET', 'api/holdfast/v1/daemon');
  const running = isObject(value) && typeof value['version'] === 'string' ? value['version'] : undefined;
  if (running === undefined || running === version) return [];
  return [
    {
      severity: 'warning',
      about: 'daemon',
      message: `The daemon that runs has the version ${running}, this command ${version}.`,
      command: 'systemctl restart holdfast',
    },
  ];
}
