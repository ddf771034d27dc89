import { fileURLToPath } from 'node:url';

/** A program of the project, by the path of its source: that of the bundle which bin/test has made, or the source. */
function program(source: string, name: string): string {
  const isBundled = process.env['HOLDFAST_TEST_BUNDLE'] !== undefined;
  return fileURLToPath(new URL(`../../${isBundled ? `dist/test/${name}.mjs` : source}`, import.meta.url));
}

export const holdfast = program('src/main.ts', 'holdfast');
export const fallingDaemon = program('test/crash/falling-daemon.ts', 'falling-daemon');

/**
 * Options of Node for daemons that tests start by the hundred: a start takes a tenth less processor time when V8 does not
 * collect a small young generation again and again.
 */
export const quickStart: readonly string[] = ['--min-semi-space-size=8'];
