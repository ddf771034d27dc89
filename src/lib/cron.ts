/**
 * The longest command in a cron table, in bytes after escaping. Debian's cron ignores the whole table over a longer
 * one.
 */
export const longestCronCommand = 998;

/**
 * Escapes a command for a cron table. There, a percent sign ends the command, and a backslash before a percent sign or
 * a backslash is removed. The redirection precedes the command as `exec >/dev/null;`, so that it applies to the whole
 * command, which needs no quoting and may be anything that a shell accepts on one line.
 */
export function cronTableCommand(
  command: string,
  dropped: { readonly stdout: boolean; readonly stderr: boolean },
): string {
  const outputs = dropped.stdout ? '>/dev/null 2>&1' : dropped.stderr ? '2>/dev/null' : '2>&1';
  return `exec ${outputs}; ${command.replaceAll(/[\\%]/g, '\\$&')}`;
}

/** A schedule field for a cron table: without blanks, and with `5/10`, which cron rejects, written as `5-59/10`. */
export function cronTableField(value: string, last: number): string {
  if (!/[\s/]/.test(value)) return value;
  return value
    .replaceAll(/\s/g, '')
    .split(',')
    .map((item) => item.replace(/^(\w+)\//, `$1-${last}/`))
    .join(',');
}
