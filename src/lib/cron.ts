/** The longest command in a cron table, in bytes as it stands there. Debian's cron drops the whole table over a longer one. */
export const longestCronCommand = 998;

/**
 * A command for a cron table, where a percent sign would end it and a backslash before a percent sign or a backslash
 * vanishes. The redirection comes first, by `exec`: so it holds for all of the command, which needs no further quotes
 * and may be anything that a shell reads on one line.
 */
export function cronTableCommand(
  command: string,
  dropped: { readonly stdout: boolean; readonly stderr: boolean },
): string {
  const outputs = dropped.stdout ? '>/dev/null 2>&1' : dropped.stderr ? '2>/dev/null' : '2>&1';
  return `exec ${outputs}; ${command.replaceAll(/[\\%]/g, '\\$&')}`;
}

/** A field of a schedule for a cron table, which has no blanks in it and reads `5/10` as an error: it says `5-59/10`. */
export function cronTableField(value: string, last: number): string {
  return value
    .replaceAll(/\s/g, '')
    .split(',')
    .map((item) => item.replace(/^(\w+)\//, `$1-${last}/`))
    .join(',');
}
