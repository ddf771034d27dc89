import type { Command } from 'commander';
import type { loadDaemon } from './load-daemon.ts';
import { localSocket } from './local-socket.ts';
import { fromSmartd, fromUpsmon, noticesFolder, tell } from './notices.ts';
import type { Installing, Server } from './plugin.ts';
import { fail, newProgram, perform } from './program.ts';
import { addServe, helpOfServe } from './serve-command.ts';
import { type Options, readSettings } from './settings.ts';
import { settingsOf } from './settings-of.ts';

/** Parses the command line and runs the command. Exits with 2 if the command line is invalid. */
export async function run(argv: readonly string[], version: string, load: typeof loadDaemon): Promise<void> {
  const program = newProgram(version);
  const served = addServe(program, async (settings) => (await load()).serve(settings, version));
  // Includes the help of serve, the default command.
  program.addHelpText('after', () => `\n${served.helpInformation()}${helpOfServe}`);
  const folder = ['--to <folder>', 'folder of the notification socket of the daemon', noticesFolder] as const;
  const notify = program
    .command('notify')
    .description('pass a notification of another program to the daemon, which raises an alert and sends a mail');
  notify
    .command('smartd')
    .description('a notification of smartd, read from the environment')
    .option(...folder)
    .action(({ to }: { to: string }) => tell(to, fromSmartd(process.env)));
  notify
    .command('ups')
    .description('an event of upsmon; the environment names the UPS')
    .argument('<event>')
    .option(...folder)
    .action((event: string, { to }: { to: string }) => tell(to, fromUpsmon(event, process.env)));
  addRecover(program);
  program
    .command('password')
    .description('set a lost password, read from the terminal or the standard input. The service must be running')
    .argument('<account>', 'root')
    .option('--state <dir>', 'folder of the configuration, as for serve')
    .option('--host <kind>', 'virtual or linux, as for serve')
    .option('--send-webhooks', 'let a virtual host post events to webhooks; otherwise the posts are kept in memory')
    .option('--config <file>', 'file with further settings (default for root: /etc/holdfast/holdfast.conf)')
    .action(async (account: string, options: Options) => {
      if (account !== 'root') return fail(`expected root, got "${account}". Others are set with the password of root.`);
      const { readPassword, setRootPassword } = await import('./password.ts');
      await setRootPassword(localSocket(settingsOf(options)), await readPassword('New password of root: '));
      process.stdout.write('The password of root is set.\n');
    });
  program
    .command('audit')
    .description('the log of requests that changed something or were refused')
    .command('verify')
    .description('check that no entry was changed, removed or inserted; exits with 1 otherwise')
    .option('--state <dir>', 'folder of the configuration, as for serve')
    .option('--host <kind>', 'virtual or linux, as for serve')
    .option('--send-webhooks', 'let a virtual host post events to webhooks; otherwise the posts are kept in memory')
    .option('--config <file>', 'file with further settings (default for root: /etc/holdfast/holdfast.conf)')
    .action(async (options: Options) => {
      const { verifyLog } = await import('./audit.ts');
      if (!verifyLog(settingsOf(options), (line) => void process.stdout.write(`${line}\n`))) process.exitCode = 1;
    });
  addPair(program);
  program
    .command('release')
    .description('restore the files and services that Holdfast replaced on this machine. The service must be stopped')
    .action(releaseMachine);
  program
    .command('plugin')
    .description('install plugins into jails')
    .command('install')
    .description('install a plugin from a bundle: a folder, an archive file or the URL of an archive')
    .argument('<bundle>')
    .option('--jail <name>', 'jail to install into (default: a new jail)')
    .option('--enable', 'start the plugin whenever its jail starts')
    .option('--no-start', 'do not start the plugin now')
    .option('--url <url>', 'URL of the daemon (default: its configured listen address)')
    .option('--user <name>', 'account to log in as', 'root')
    .addHelpText(
      'after',
      '\nThe password is taken from HOLDFAST_PASSWORD in the environment, otherwise from HOLDFAST_ROOT_PASSWORD as for serve.',
    )
    .action(async (bundle: string, options: Installing & Partial<Server>) => {
      const { installPlugin } = await import('./plugin.ts');
      process.stdout.write(`${await installPlugin(bundle, options, serverOf(options))}\n`);
    });
  await perform(program, argv);
}

/** The commands for a state that the daemon refuses. The daemon must not run at the same time. */
function addRecover(program: Command): void {
  const say = (line: string) => void process.stdout.write(`${line}\n`);
  const withState = (command: Command) =>
    command
      .option('--state <dir>', 'folder of the configuration, as for serve')
      .option('--host <kind>', 'virtual or linux, as for serve')
      .option('--send-webhooks', 'let a virtual host post events to webhooks; otherwise the posts are kept in memory')
      .option('--config <file>', 'file with further settings (default for root: /etc/holdfast/holdfast.conf)');
  const recovering = (command: Command) => ({
    settings: settingsOf(command.optsWithGlobals<Options>()),
    yes: command.opts()['yes'] === true,
    say,
  });
  const recover = withState(program.command('recover'))
    .description('when the daemon refuses its state: show the state and the available options')
    .action(async (_options: object, command: Command) =>
      (await import('./recover.ts')).describeState(settingsOf(command.optsWithGlobals<Options>()), say),
    );
  recover
    .command('restore')
    .description('restore a backup: the newest on the pools, or a file')
    .argument('[file]')
    .option(
      '--key <key>',
      'recovery key or passphrase of the backup, if it is not stored beside it (or HOLDFAST_RECOVERY_KEY in the environment)',
    )
    .option('--yes', 'proceed instead of only describing it')
    .action(async (file: string | undefined, { key }: { key?: string }, command: Command) => {
      const { catalogue } = await import('../areas/index.ts');
      const { isKeptResource } = await import('../engine/engine.ts');
      const { restoreState } = await import('./recover.ts');
      await restoreState(recovering(command), file, key, catalogue.filter(isKeptResource));
    });
  recover
    .command('accept')
    .description('continue with a database that has lost its newest changes')
    .option('--yes', 'proceed instead of only describing it')
    .action(async (_options: object, command: Command) =>
      (await import('./recover.ts')).acceptState(recovering(command)),
    );
  recover
    .command('new')
    .description('start with an empty configuration')
    .option('--yes', 'proceed instead of only describing it')
    .action(async (_options: object, command: Command) =>
      (await import('./recover.ts')).beginAgain(recovering(command)),
    );
  recover
    .command('key')
    .description('show the key that decrypts the secrets of backups on pools; keep a copy of it')
    .action(async (_options: object, command: Command) =>
      (await import('./recover.ts')).showRecoveryKey(settingsOf(command.optsWithGlobals<Options>()), say),
    );
}

/** Two machines on one shelf of disks, of which one has the pool. */
function addPair(program: Command): void {
  const say = (line: string) => void process.stdout.write(`${line}\n`);
  const ha = program.command('ha').description('two machines on the same disks, of which one serves the pool');
  const command = (name: string, description: string) =>
    ha
      .command(name)
      .description(description)
      .option('--state <dir>', 'folder of the configuration, as for serve')
      .option('--host <kind>', 'virtual or linux, as for serve')
      .option('--shelf <dir>', 'folder of the disks of virtual hosts, as for serve')
      .option('--config <file>', 'file with further settings (default for root: /etc/holdfast/holdfast.conf)');
  command('form', 'move the configuration of this machine to its pool, for a pair. The service must be stopped')
    .argument('<pool>')
    .requiredOption(
      '--node <name=url,address...>',
      'host name and URL of each of the two machines, and the addresses by which they see each other',
    )
    .option(
      '--to <file>',
      'file for "holdfast ha join" on the other machine, instead of a token; it has the key of all secrets',
    )
    .option('--vote <host>', 'address or host name of a third machine whose corosync-qnetd has a vote')
    .action(async (pool: string, options: Options & { node: readonly string[]; to?: string; vote?: string }) => {
      const { catalogue } = await import('../areas/index.ts');
      const { isKeptResource } = await import('../engine/engine.ts');
      const { formPair } = await import('./ha.ts');
      const ofNode = catalogue.filter(isKeptResource).flatMap(({ ofNode, path }) => (ofNode ? [path] : []));
      const { node: nodes, to, vote } = options;
      await formPair({ settings: settingsOf(options), pool, nodes, to, vote, ofNode, say });
    });
  command('join', 'make this machine the other one of a pair. The service must be stopped')
    .argument(
      '[file]',
      'the file that "holdfast ha form" wrote. Without it, a token of the machine with the pool is read from the terminal or the standard input',
    )
    .option('--discard', 'move the configuration of this machine aside')
    .action(async (file: string | undefined, options: Options & { discard?: boolean }) => {
      const token = async () => (await import('./password.ts')).readPassword('Token of the other machine: ');
      const from = file === undefined ? { token } : { file };
      await (await import('./ha.ts')).joinPair(settingsOf(options), from, options.discard === true, say);
    });
  command('vote', 'ask a third machine for a vote, or no more. To be run on both machines; the service must be running')
    .argument('[host]', 'address or host name of the machine on which corosync-qnetd runs')
    .option('--remove', 'do without a third vote')
    .action(async (host: string | undefined, options: Options & { remove?: boolean }) => {
      if ((host === undefined) !== (options.remove === true))
        return fail('expected a host or --remove, such as: holdfast ha vote 192.0.2.13');
      await (await import('./ha-order.ts')).orderVote(settingsOf(options), host, say);
    });
  for (const [order, description] of [
    ['take', 'import the pool and serve it here'],
    ['release', 'stop serving the pool and export it'],
  ] as const)
    command(order, description).action(async (options: Options) =>
      (await import('./ha-order.ts')).movePool(settingsOf(options), order, say),
    );
  command('status', 'show which machine has the pool').action(async (options: Options) =>
    (await import('./ha-order.ts')).showPair(settingsOf(options), say),
  );
}

/** A running daemon would write its files again, so it must be stopped. */
async function releaseMachine(): Promise<void> {
  const say = (line: string) => void process.stdout.write(`holdfast: ${line}\n`);
  if (process.getuid?.() !== 0) return fail('release changes this machine and requires root.');
  const host = await (await import('../host/linux/index.ts')).openLinuxHost();
  try {
    if ((await host.services.states(['holdfast'])).get('holdfast')?.running === true)
      return fail('the service is running; stop it first with: systemctl stop holdfast');
    const { release } = await import('./release.ts');
    await release(host, { now: Date.now, say });
  } finally {
    await host.close();
  }
}

/** The server of a daemon on this machine with the same settings. */
function serverOf({ url, user = 'root' }: Partial<Server>): Server {
  const { listen, rootPassword = '' } = readSettings({}, process.env, process.getuid?.() === 0);
  const { address, port } = listen;
  const near =
    address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '[::1]' : address.includes(':') ? `[${address}]` : address;
  return {
    url: url?.replace(/\/+$/, '') ?? `http://${near}:${port}`,
    user,
    password: process.env['HOLDFAST_PASSWORD'] ?? rootPassword,
  };
}
