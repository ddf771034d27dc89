import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Api } from '../api.ts';
import { Machine, type MachineOptions, patience } from './machine.ts';

export const rootPassword = 'a test password';

/** A test machine on which the Debian package of Holdfast is installed and serves. */
export interface Nas extends AsyncDisposable {
  readonly machine: Machine;
  readonly api: Api;
}

interface NasOptions extends MachineOptions {
  /** A script or a function that prepares the machine before Holdfast is installed. */
  readonly before?: string | ((machine: Machine) => Promise<void>);
  /** Further lines of Holdfast's configuration file. */
  readonly settings?: readonly string[];
  /**
   * `whole`: the package is installed from its file, as an administrator does. `configured`: it is unpacked, and only
   * has to be configured. `started`: the machine has also started it for the first time, which is the default where
   * nothing else that is asked for could be different at the first start.
   */
  readonly installation?: Installation;
}

type Installation = 'whole' | 'configured' | 'started';

/** The path of the folder with the package in the machine. */
const packageFile = '/opt/payload/holdfast.deb';

/** Whether this process has not started an appliance yet. */
let isFirst = true;

/**
 * How the package gets into the machine. Of several appliances only the first uses the layer of a first start: otherwise
 * they would share the keys that this start made.
 */
function installationFor({ before, settings, installation, name, networks, bare, lasting, pc }: NasOptions) {
  if (installation !== undefined) return installation;
  const isPlain = [before, settings, name, networks, bare, pc].every((option) => option === undefined);
  return isPlain && isFirst && lasting !== 'zfs' ? 'started' : 'configured';
}

export async function startNas(options: NasOptions = {}): Promise<Nas> {
  const installation = installationFor(options);
  isFirst = false;
  const { before, settings = [], ...machineOptions } = options;
  const machine = await Machine.start({ ...machineOptions, ...packageFor(installation) });
  const api = apiOf(machine);
  try {
    if (typeof before === 'string') await machine.run(before);
    else await before?.(machine);
    if (installation === 'started') await untilReady(api);
    else if (installation === 'whole') await installPackage(machine, settings);
    else await install(machine, '--configure holdfast', settings);
  } catch (error) {
    await machine[Symbol.asyncDispose]();
    throw error;
  }
  return { machine, api, [Symbol.asyncDispose]: () => machine[Symbol.asyncDispose]() };
}

function packageFor(installation: Installation): Pick<MachineOptions, 'payload' | 'package'> {
  if (installation === 'whole') return { payload: fileURLToPath(new URL('../../../dist/debian', import.meta.url)) };
  return { package: installation === 'started' ? 'started' : 'unpacked' };
}

export function apiOf(machine: Machine, signal?: AbortSignal): Api {
  return new Api(`http://${machine.address}:8080`, { user: 'root', password: rootPassword }, signal);
}

/** Installs the package from its file, as an administrator does. */
export function installPackage(machine: Machine, settings: readonly string[] = []): Promise<void> {
  return install(machine, `-i ${packageFile}`, settings);
}

/**
 * Writes the settings, then installs the package, which starts the service. `dpkg` are the arguments that install or
 * configure it.
 */
// An emulated machine computes so slowly that stalls of the daemon say nothing.
async function install(machine: Machine, dpkg: string, settings: readonly string[]): Promise<void> {
  await machine.run(
    `
    systemctl is-system-running --wait >/dev/null || systemctl --failed
    mkdir -p /etc/holdfast
    printf 'HOLDFAST_LISTEN=0.0.0.0:8080\\nHOLDFAST_ROOT_PASSWORD=${rootPassword}\\nHOLDFAST_STALL=10000\\n${settings.map((line) => `${line}\\n`).join('')}' >/etc/holdfast/holdfast.conf
    dpkg --force-confold ${dpkg} >/tmp/install.log 2>&1 || { cat /tmp/install.log; exit 1; }
    systemctl is-active --quiet holdfast || { cat /tmp/install.log; journalctl -u holdfast -n 40 --no-pager -o cat; exit 1; }`,
    { seconds: 400 },
  );
}

/** The log of the daemon, for the message of a failure. */
export function journal(machine: Machine): Promise<string> {
  return machine.run('journalctl -u holdfast -n 60 --no-pager -o cat');
}

/** Milliseconds between two tries: a tenth of the wait so far, because most tries start a program in the machine. */
const between = { least: 200, most: 1000, part: 0.1 };

/**
 * Repeats the callback until it succeeds; throws its last error after several times the seconds that it takes on quiet
 * cores, with the explanation. A test states what comes, not how fast.
 */
export async function eventually<T>(
  seconds: number,
  question: () => Promise<T>,
  explanation?: () => Promise<string>,
): Promise<T> {
  const start = Date.now();
  const end = start + patience * seconds * 1000;
  for (;;) {
    try {
      return await question();
    } catch (error) {
      if (Date.now() > end) {
        if (explanation === undefined) throw error;
        throw new Error(`${error instanceof Error ? error.message : error}\n${await explanation()}`, { cause: error });
      }
      await pause(Math.min(between.most, Math.max(between.least, (Date.now() - start) * between.part)));
    }
  }
}

/** Waits until the daemon has started: before that it answers reads, and refuses changes. */
export async function untilReady(api: Api, seconds = 150): Promise<void> {
  await eventually(seconds, async () => {
    const { status, text } = await api.get('/readyz');
    if (status !== 200) throw new Error(`the daemon is not ready: ${text}`);
  });
}
