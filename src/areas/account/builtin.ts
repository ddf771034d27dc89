/** The builtin accounts of a new system, in the order of their ids (gaps 10.3). */

export const builtinGroups: readonly (readonly [gid: number, name: string])[] = [
  [0, 'wheel'],
  [1, 'daemon'],
  [2, 'kmem'],
  [3, 'sys'],
  [4, 'tty'],
  [5, 'operator'],
  [6, 'mail'],
  [7, 'bin'],
  [8, 'news'],
  [9, 'man'],
  [13, 'games'],
  [14, 'ftp'],
  [20, 'staff'],
  [22, 'sshd'],
  [25, 'smmsp'],
  [26, 'mailnull'],
  [31, 'guest'],
  [53, 'bind'],
  [62, 'proxy'],
  [63, 'authpf'],
  [64, '_pflogd'],
  [65, '_dhcp'],
  [66, 'uucp'],
  [68, 'dialer'],
  [69, 'network'],
  [77, 'audit'],
  [80, 'www'],
  [65533, 'nogroup'],
  [65534, 'nobody'],
  [200, 'avahi'],
  [201, 'messagebus'],
  [845, 'hast'],
  [78, 'ladvd'],
  [666, 'webdav'],
  [8675309, 'media'],
];

const nologin = '/usr/sbin/nologin';

export const builtinUsers: readonly (readonly [
  uid: number,
  name: string,
  group: number,
  home: string,
  shell: string,
])[] = [
  [0, 'root', 1, '/root', '/bin/csh'],
  [1, 'daemon', 2, '/root', nologin],
  [2, 'operator', 6, '/', nologin],
  [3, 'bin', 8, '/', nologin],
  [4, 'tty', 28, '/', nologin],
  [5, 'kmem', 3, '/', nologin],
  [7, 'games', 11, '/', nologin],
  [8, 'news', 9, '/', nologin],
  [9, 'man', 10, '/usr/share/man', nologin],
  [22, 'sshd', 14, '/var/empty', nologin],
  [25, 'smmsp', 15, '/var/spool/clientmqueue', nologin],
  [26, 'mailnull', 16, '/var/spool/mqueue', nologin],
  [53, 'bind', 18, '/', nologin],
  [62, 'proxy', 19, '/nonexistent', nologin],
  [64, '_pflogd', 21, '/var/empty', nologin],
  [65, '_dhcp', 22, '/var/empty', nologin],
  [66, 'uucp', 23, '/var/spool/uucppublic', '/usr/local/libexec/uucp/uucico'],
  [68, 'pop', 7, '/nonexistent', nologin],
  [80, 'www', 27, '/nonexistent', nologin],
  [65534, 'nobody', 29, '/nonexistent', nologin],
  [200, 'avahi', 30, '/nonexistent', nologin],
  [201, 'messagebus', 31, '/nonexistent', nologin],
  [14, 'ftp', 12, '/nonexistent', '/bin/csh'],
  [78, 'auditdistd', 26, '/var/empty', nologin],
  [845, 'hast', 32, '/var/empty', nologin],
  [79, 'ladvd', 33, '/var/empty', nologin],
  [666, 'webdav', 34, '/var/empty', nologin],
  [8675309, 'media', 35, '/var/empty', nologin],
];

/**
 * Builtin accounts that API clients use. Holdfast creates these where the machine lacks them. The other builtin
 * accounts are only records that reserve a name, and correspond to the machine's own account of that name if it exists.
 */
export const madeWhenMissing: readonly string[] = ['wheel', 'ftp', 'guest', 'nobody', 'www', 'webdav', 'media'];
