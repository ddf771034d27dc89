/** The private key of this machine and the host keys of the others, for ssh. The folder is in memory. */
export const keyFile = '/run/holdfast/replication/key';
export const knownHostsFile = '/run/holdfast/replication/known_hosts';
