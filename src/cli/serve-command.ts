import type { Command } from 'commander';
import { type Options, readSettings, type Settings } from './settings.ts';

/** What the help of the command says after its options. */
export const helpOfServe = `
Every option can also be set in the environment (HOLDFAST_LISTEN, HOLDFAST_STATE, HOLDFAST_HOST, HOLDFAST_PROFILE,
HOLDFAST_DISKS, HOLDFAST_SHELF, HOLDFAST_LOG_LEVEL, HOLDFAST_LOG_FORMAT, HOLDFAST_NAMES, HOLDFAST_DIRECTORIES, HOLDFAST_PORT_OFFSET, HOLDFAST_CLOCK_OFFSET,
HOLDFAST_SEND_MAIL (yes or no), HOLDFAST_SEND_WEBHOOKS (yes or no), HOLDFAST_UNVERIFIED_MAIL, HOLDFAST_CONFIG) or, except
HOLDFAST_CONFIG, in a file of NAME=value lines: /etc/holdfast/holdfast.conf for root, otherwise ~/.config/holdfast/holdfast.conf. Three settings have no
option: HOLDFAST_ISCSI (auto, lio or tgt), HOLDFAST_STALL (milliseconds of computing that are not yet reported as a
stall) and HOLDFAST_ROOT_PASSWORD, the first password of root. Without HOLDFAST_ROOT_PASSWORD a password is generated and
shown once.`;

/** Adds `serve`, which is also what a command line without a command means. */
export function addServe(program: Command, serve: (settings: Settings) => Promise<void>): Command {
  return program
    .command('serve', { isDefault: true })
    .description('serve the interface over HTTP')
    .option('--listen <addr:port>', 'address and port (default 127.0.0.1:8080)')
    .option('--state <dir>', 'folder of the configuration and, with --host virtual, of the simulated machine')
    .option('--host <kind>', 'virtual: a simulated machine; linux: this machine (default virtual)')
    .option('--profile <name>', 'document: respond as documented; clients: as most programs expect (default document)')
    .option('--disks <list>', 'disks of a new virtual host, such as 4x2G,2x500M (default 8x2G)')
    .option(
      '--shelf <dir>',
      'folder of disks that two virtual hosts reach, named as their state folders (default none)',
    )
    .option('--log-level <level>', 'debug, info, warn, error or silent (default info)')
    .option('--log-format <format>', 'text, json, or auto: text on a terminal and JSON otherwise (default auto)')
    .option(
      '--names <list>',
      'further host names of the daemon, such as those of a proxy: nas.example.org,files.example.org:8443',
    )
    .option('--directories <file>', 'domains and directories in the network of a virtual host, as JSON')
    .option('--port-offset <number>', 'added to ports below 1024 of system/settings on a virtual host (default 9000)')
    .option('--clock-offset <seconds>', 'added to the clock of a virtual host, for tests of what happens with time')
    .option('--send-mail', 'let a virtual host send mail over the network; otherwise it is kept in memory')
    .option(
      '--unverified-mail <list>',
      'mail servers whose certificate is not verified, as in em_outgoingserver: mail.example.org,192.0.2.1',
    )
    .option('--send-webhooks', 'let a virtual host post events to webhooks; otherwise the posts are kept in memory')
    .option('--config <file>', 'file with further settings')
    .addHelpText('after', helpOfServe)
    .action((options: Options) => serve(readSettings(options, process.env, process.getuid?.() === 0)));
}
