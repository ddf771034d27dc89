import { isSupportedNode } from './cli/node-version.ts';

// Checked first: an older Node would fail while it loads the rest, with an error that hides the cause.
if (!isSupportedNode(process.versions.node)) {
  const { node } = process.versions;
  process.stderr.write(`Holdfast requires Node 22.18 or later, got ${node}. bin/start installs its own.\n`);
  process.exit(2);
}
const { run } = await import('./cli/run.ts');
await run(process.argv);
