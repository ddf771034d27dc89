/** Where ssh finds this machine's key and those of the others. The folder is in memory and goes with the daemon. */
export const keyFile = '/run/holdfast/replication/key';
export const knownHostsFile = '/run/holdfast/replication/known_hosts';
