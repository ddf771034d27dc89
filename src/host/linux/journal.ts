import type { Runner } from './runner.ts';

/** The last lines that the journal has since then (milliseconds since 1970) of what `choice` names, as `--unit=x.service`. */
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
