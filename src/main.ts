import { isSupportedNode } from './cli/node-version.ts';

// Said before anything else is loaded: an older Node would fail somewhere inside, and say something else.
if (!isSupportedNode(process.versions.node)) {
  process.stderr.write(`Holdfast needs Node 22.14 or later; this is ${process.versions.node}. bin/start brings its own.\n`);
  process.exit(2);
}
const { run } = await import('./cli/run.ts');
await run(process.argv);
