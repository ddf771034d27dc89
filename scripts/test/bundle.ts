/**
 * Bundles the programs that tests start, many of them a hundred times: a bundle starts in half the time of the sources.
 * Run by bin/test.
 */
import { bundle } from '../bundle.ts';

await bundle('dist/test', { more: { 'falling-daemon': 'test/crash/falling-daemon.ts' } });
