/** The command line of the programs of the server, of which each command is added by its own file. */
import { Command, CommanderError } from 'commander';
import { messageOf } from '../lib/text.ts';
import { onBrokenOutput } from './broken-output.ts';

export function newProgram(version: string): Command {
  // What a command does to the machine, it completes.
  onBrokenOutput(() => {});
  return new Command('holdfast')
    .description('Management daemon of a network storage appliance.')
    .version(version)
    .exitOverride()
    .showHelpAfterError(false)
    .configureOutput({ outputError: (message, write) => write(message.replace(/^error: /, 'holdfast: ')) })
    .addHelpText(
      'beforeAll',
      'To manage an appliance: holdfast VERB RESOURCE [NAME] [--FIELD VALUE…]. See: holdfast help\n',
    );
}

/** Parses the command line and runs the command. Exits with 2 if the command line is invalid. */
export async function perform(program: Command, argv: readonly string[]): Promise<void> {
  try {
    await program.parseAsync(argv);
  } catch (error) {
    // Commander has printed the message already. Help and version are not errors.
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
    else if (error instanceof Error && foreseen.includes(error.name)) fail(error.message);
    else if (argv.includes('notify')) fail(`the daemon could not be notified: ${messageOf(error)}`);
    else throw error;
  }
}

/** Names of errors whose message is for the user. Their classes are in files that not every command loads. */
const foreseen: readonly string[] = ['SettingsError', 'LocalRequestError', 'PluginError', 'StoreError', 'HostError'];

export function fail(message: string): void {
  process.stderr.write(`holdfast: ${message}\n`);
  process.exitCode = 2;
}
