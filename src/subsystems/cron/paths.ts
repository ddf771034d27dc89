/** The table of Holdfast. cron ignores file names with a dot. */
export const cronDaemonTable = '/etc/cron.d/holdfast';
