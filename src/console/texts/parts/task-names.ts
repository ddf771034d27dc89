export const cronJob = 'Cron job';
export const rsyncTask = 'rsync task';
export const smartTest = 'SMART test';
export const snapshotTask = 'Snapshot task';
export const replication = 'Replication';
export const scrub = 'Scrub';
