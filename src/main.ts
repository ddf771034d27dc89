import { loadDaemon } from './cli/load-daemon.ts';
import { isSupportedNode } from './cli/node-version.ts';
import { version } from './cli/version.ts';

// Checked first: an older Node would fail while it loads the rest, with an error that hides the cause.
if (!isSupportedNode(process.versions.node)) {
  const { node } = process.versions;
  process.stderr.write(`Holdfast requires Node 22.18 or later, got ${node}. bin/start installs its own.\n`);
  process.exit(2);
}
// Each command loads only what it uses.
const [word = 'serve'] = process.argv.slice(2);
const ofServer = ['notify', 'recover', 'password', 'audit', 'release', 'plugin', 'ha'];
if (word === '--version' || word === '-V') {
  // Its reader may have ended.
  process.stdout.on('error', () => {});
  process.stdout.write(`${version()}\n`);
} else if (word === 'serve') {
  // The other commands of the server would double the files that are read.
  await (await loadDaemon()).start(process.argv, version());
} else if (word.startsWith('-') || ofServer.includes(word))
  await (await import('./cli/run.ts')).run(process.argv, version(), loadDaemon);
else await (await import('./cli/client/start.ts')).start(process.argv.slice(2), version);
