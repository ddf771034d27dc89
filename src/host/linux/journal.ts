import type { Runner } from './runner.ts';

/**
 * The last journal lines since a time (milliseconds since 1970) of what `choice` selects, such as `--unit=x.service`.
 */
export async function lastWords(runner: Runner, choice: string, since: number): Promise<string> {
  await runner.run(['journalctl', '--sync']);
  const { stdout } = await runner.run([
    'journalctl',
    '--quiet',
    '--no-pager',
    choice,
    `--since=@${since / 1000}`,
    '--lines=10',
    '--output=cat',
  ]);
  return stdout.trim();
}
