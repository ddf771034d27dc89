/**
 * The parameters that `testparm` of Samba 4.22 accepts, determined by running it: `testparm -s -v` lists them with their
 * defaults, and a file with each name and a value shows which belong to shares and which are deprecated. Parametric options (`type : name`)
 * are not listed, because every name is accepted for them.
 */

const list = (text: string): readonly string[] => text.trim().split(/,\s+/);

/** Samba ignores letter case and blanks in names. */
export const plainName = (name: string): string => name.toLowerCase().replace(/\s+/g, '');

/** The names in a text. They are read when the first one is looked up, because a start needs none of them. */
function names(text: string): Iterable<string> & Pick<ReadonlySet<string>, 'has'> {
  let found: ReadonlySet<string> | undefined;
  const all = () => {
    found ??= new Set(list(text).map(plainName));
    return found;
  };
  return { has: (name) => all().has(name), [Symbol.iterator]: () => all().values() };
}

/** Parameters that are valid only in `[global]`. */
export const globalParameters = names(`
  abort shutdown script, acl claims evaluation, ad dc functional level, add group script, add machine script, add share command, add user script,
  add user to group script, additional dns hostnames, addport command, addprinter command, afs token lifetime, afs username map, aio max threads,
  algorithmic rid base, allow dcerpc auth level connect, allow dns updates, allow insecure wide links, allow nt4 crypto, allow trusted domains,
  allow unsafe cluster upgrade, apply group policies, async dns timeout, async smb echo handler, auth event notification, auto services,
  bind dns directory, bind interfaces only, binddns dir, browse list, cache directory, change notify, change share command, check password script,
  client ipc max protocol, client ipc min protocol, client ipc signing, client lanman auth, client ldap sasl wrapping, client max protocol,
  client min protocol, client netlogon ping protocol, client ntlmv2 auth, client plaintext auth, client protection, client schannel, client signing,
  client smb encrypt, client smb3 encryption algorithms, client smb3 signing algorithms, client use kerberos, client use krb5 netlogon,
  client use spnego, cluster addresses, clustering, config backend, config file, create krb5 conf, ctdb locktime warn threshold, ctdb timeout,
  ctdbd socket, cups connection timeout, cups encrypt, cups server, dcerpc endpoint servers, deadtime, debug class, debug encryption,
  debug hires timestamp, debug pid, debug prefix timestamp, debug syslog format, debug timestamp, debug uid, dedicated keytab file, default,
  default service, defer sharing violations, delete group script, delete share command, delete user from group script, delete user script,
  deleteprinter command, dgram port, disable netbios, disable spoolss, dns forwarder, dns hostname, dns port, dns proxy, dns update command,
  dns zone scavenging, dns zone transfer clients allow, dns zone transfer clients deny, domain logons, domain master, dos charset,
  dsdb event notification, dsdb group change notification, dsdb password event notification, enable asu support, enable core files, enable privileges,
  enable spoolss, encrypt passwords, enhanced browsing, enumports command, eventlog list, get quota command, getwd cache, gpo update command,
  guest account, himmelblaud hello enabled, himmelblaud hsm pin path, himmelblaud sfa fallback, host msdfs, hostname lookups, idmap backend,
  idmap cache time, idmap gid, idmap negative cache time, idmap uid, include system krb5 conf, init logon delay, init logon delayed hosts, interfaces,
  iprint server, kdc default domain supported enctypes, kdc enable fast, kdc force enable rc4 weak session keys, kdc supported enctypes, keepalive,
  kerberos encryption types, kerberos method, kernel change notify, kpasswd port, krb5 port, lanman auth, large readwrite, ldap admin dn,
  ldap connection timeout, ldap debug level, ldap debug threshold, ldap delete dn, ldap deref, ldap follow referral, ldap group suffix,
  ldap idmap suffix, ldap machine suffix, ldap max anonymous request size, ldap max authenticated request size, ldap max search request size,
  ldap page size, ldap passwd sync, ldap password sync, ldap replication sleep, ldap server require strong auth, ldap ssl, ldap suffix, ldap timeout,
  ldap user suffix, lm announce, lm interval, load printers, local master, lock dir, lock directory, lock spin time, log file, log nt token command,
  log writeable files on exit, logging, logon drive, logon home, logon path, logon script, lpq cache time, lsa over netlogon, machine password timeout,
  mangle prefix, mangling method, map to guest, max disk size, max log size, max mux, max open files, max protocol, max smbd processes,
  max stat cache size, max ttl, max wins ttl, max xmit, mdns name, message command, min domain uid, min protocol, min receivefile size, min wins ttl,
  mit kdc command, multicast dns register, name cache timeout, name resolve order, nbt client socket address, nbt port, ncalrpc dir, netbios aliases,
  netbios name, netbios scope, neutralize nt4 emulation, nmbd bind explicit broadcast, nsupdate command, nt hash store, nt pipe support,
  nt status support, ntlm auth, ntp signd socket directory, null passwords, obey pam restrictions, old password allowed period, oplock break wait time,
  os level, os2 driver map, pam password change, panic action, passdb backend, passdb expand explicit, passwd chat, passwd chat debug,
  passwd chat timeout, passwd program, password hash gpg key ids, password hash userpassword schemes, password server, perfcount module, pid directory,
  prefered master, preferred master, prefork backoff increment, prefork children, prefork maximum backoff, preload, preload modules, printcap,
  printcap cache time, printcap name, private dir, private directory, protocol, raw ntlmv2 auth, read raw, realm, registry shares,
  reject aes netlogon servers, reject md5 clients, reject md5 servers, remote announce, remote browse sync, rename user script, require strong key,
  reset on zero vc, restrict anonymous, root, root dir, root directory, rpc big endian, rpc server dynamic port range, rpc server port,
  rpc start on demand helpers, samba kcc command, security, server max protocol, server min protocol, server multi channel support,
  server reject aes schannel, server role, server schannel, server schannel require seal, server services, server signing,
  server smb3 encryption algorithms, server smb3 signing algorithms, server string, server support krb5 netlogon, set primary group script,
  set quota command, show add printer wizard, shutdown script, smb passwd file, smb ports, smb1 unix extensions, smb2 disable lock sequence checking,
  smb2 disable oplock break retry, smb2 leases, smb2 max credits, smb2 max read, smb2 max trans, smb2 max write, smb3 directory leases,
  smbd profiling level, socket address, socket options, spn update command, stat cache, state directory, svcctl list, sync machine password script,
  sync machine password to keytab, syslog, syslog only, template homedir, template shell, time server, timestamp logs, tls ca directories, tls cafile,
  tls certfile, tls crlfile, tls dh params file, tls enabled, tls keyfile, tls priority, tls trust system cas, tls verify peer, unicode, unix charset,
  unix extensions, unix password sync, use mmap, username level, username map, username map cache time, username map script, usershare allow guests,
  usershare max shares, usershare owner only, usershare path, usershare prefix allow list, usershare prefix deny list, usershare template share, utmp,
  utmp directory, winbind cache time, winbind debug traceid, winbind enum groups, winbind enum users, winbind expand groups, winbind gid,
  winbind max clients, winbind max domain connections, winbind nested groups, winbind normalize names, winbind nss info, winbind offline logon,
  winbind reconnect delay, winbind refresh tickets, winbind request timeout, winbind rpc only, winbind scan trusted domains, winbind sealed pipes,
  winbind separator, winbind uid, winbind use default domain, winbind use krb5 enterprise principals, winbindd socket directory, wins hook, wins proxy,
  wins server, wins support, workgroup, write raw, wsp property file, wtmp directory
`);

/** Parameters that are valid in shares. */
export const shareParameters = names(`
  access based share enum, acl allow execute always, acl check permissions, acl flag inherited canonicalization, acl group control, acl map full control,
  admin users, administrative share, afs share, aio read size, aio write behind, aio write size, allocation roundup size, allow hosts, available,
  block size, blocking locks, browsable, browseable, case sensitive, casesignames, check parent directory delete on close, comment, copy, create mask,
  create mode, csc policy, cups options, debug level, default case, default devmode, delete readonly, delete veto files, deny hosts, dfree cache time,
  dfree command, directory, directory mask, directory mode, dmapi support, dont descend, dos filemode, dos filetime resolution, dos filetimes,
  durable handles, ea support, exec, fake directory create times, fake oplocks, follow symlinks, force create mode, force directory mode, force group,
  force printername, force unknown acl user, force user, fstype, group, guest ok, guest only, hide dot files, hide files, hide new files timeout,
  hide special files, hide unreadable, hide unwriteable files, honor change notify privilege, hosts allow, hosts deny, include, inherit acls,
  inherit owner, inherit permissions, invalid users, kernel oplocks, kernel share modes, level2 oplocks, locking, log level, lppause command,
  lpq command, lpresume command, lprm command, magic output, magic script, mangled names, mangling char, map acl inherit, map archive, map hidden,
  map readonly, map system, max connections, max print jobs, max reported print jobs, min print space, msdfs proxy, msdfs root, msdfs shuffle referrals,
  nt acl support, ntvfs handler, only guest, oplocks, path, posix locking, postexec, preexec, preexec close, preserve case, print command,
  print notify backchannel, print ok, printable, printer, printer name, printing, printjob username, public, queuepause command, queueresume command,
  read list, read only, root postexec, root preexec, root preexec close, server addresses, server smb encrypt, short preserve case, smb encrypt,
  smb3 unix extensions, smbd async dosmode, smbd force process locks, smbd getinfo ask sharemode, smbd max async dosmode, smbd max xattr size,
  smbd search ask sharemode, spotlight, spotlight backend, store dos attributes, strict allocate, strict locking, strict rename, strict sync,
  sync always, use client driver, use sendfile, valid users, veto files, veto oplock files, vfs mkdir use tmp name, vfs object, vfs objects, volume,
  volume serial number, wide links, writable, write list, write ok, writeable
`);

export const booleanParameters = names(`
  access based share enum, acl allow execute always, acl check permissions, acl flag inherited canonicalization, acl group control, acl map full control,
  administrative share, afs share, allow dcerpc auth level connect, allow insecure wide links, allow nt4 crypto, allow trusted domains,
  allow unsafe cluster upgrade, apply group policies, async smb echo handler, auth event notification, available, bind interfaces only, blocking locks,
  browsable, browse list, browseable, change notify, check parent directory delete on close, client lanman auth, client ntlmv2 auth,
  client plaintext auth, client use spnego, clustering, create krb5 conf, debug class, debug encryption, debug hires timestamp, debug pid,
  debug prefix timestamp, debug timestamp, debug uid, default devmode, defer sharing violations, delete readonly, delete veto files, disable netbios,
  disable spoolss, dmapi support, dns proxy, dns zone scavenging, domain logons, dos filemode, dos filetime resolution, dos filetimes,
  dsdb event notification, dsdb group change notification, dsdb password event notification, durable handles, ea support, enable asu support,
  enable core files, enable privileges, enable spoolss, encrypt passwords, enhanced browsing, fake directory create times, fake oplocks, follow symlinks,
  force printername, force unknown acl user, getwd cache, guest ok, guest only, hide dot files, hide special files, hide unreadable,
  hide unwriteable files, himmelblaud hello enabled, himmelblaud sfa fallback, honor change notify privilege, host msdfs, hostname lookups,
  include system krb5 conf, inherit acls, inherit permissions, kdc enable fast, kdc force enable rc4 weak session keys, kernel change notify,
  kernel oplocks, kernel share modes, lanman auth, large readwrite, ldap delete dn, level2 oplocks, load printers, local master, locking,
  log writeable files on exit, lsa over netlogon, map acl inherit, map archive, map hidden, map system, msdfs root, msdfs shuffle referrals,
  multicast dns register, neutralize nt4 emulation, nmbd bind explicit broadcast, nt acl support, nt pipe support, nt status support, null passwords,
  obey pam restrictions, only guest, oplocks, pam password change, passdb expand explicit, passwd chat debug, posix locking, preexec close,
  preserve case, print notify backchannel, print ok, printable, public, raw ntlmv2 auth, read only, read raw, registry shares,
  reject aes netlogon servers, reject md5 clients, reject md5 servers, require strong key, reset on zero vc, root preexec close, rpc big endian,
  rpc start on demand helpers, server multi channel support, server reject aes schannel, server schannel require seal, server support krb5 netlogon,
  short preserve case, show add printer wizard, smb1 unix extensions, smb2 disable lock sequence checking, smb2 disable oplock break retry, smb2 leases,
  smb3 unix extensions, smbd async dosmode, smbd force process locks, smbd getinfo ask sharemode, smbd search ask sharemode, spotlight, stat cache,
  store dos attributes, strict allocate, strict rename, strict sync, sync always, syslog only, time server, timestamp logs, tls enabled,
  tls trust system cas, unicode, unix extensions, unix password sync, use client driver, use mmap, use sendfile, usershare allow guests,
  usershare owner only, utmp, wide links, winbind debug traceid, winbind enum groups, winbind enum users, winbind nested groups, winbind normalize names,
  winbind offline logon, winbind refresh tickets, winbind rpc only, winbind scan trusted domains, winbind sealed pipes, winbind use default domain,
  winbind use krb5 enterprise principals, wins proxy, wins support, writable, write ok, write raw, writeable
`);

export const sizeParameters = names(`
  aio read size, aio write size, allocation roundup size, block size, max disk size, max log size, max xmit, min receivefile size, smb2 max read,
  smb2 max trans, smb2 max write
`);

export const octalParameters = names(`
  create mask, create mode, directory mask, directory mode, force create mode, force directory mode
`);

/** Parameters that are accepted with a warning. */
export const deprecatedParameters = names(`
  acl check permissions, allocation roundup size, allow nt4 crypto, blocking locks, client lanman auth, client ntlmv2 auth, client plaintext auth,
  client schannel, client use spnego, domain logons, enable privileges, encrypt passwords, idmap backend, idmap gid, idmap uid, lanman auth,
  lsa over netlogon, nbt client socket address, null passwords, raw ntlmv2 auth, reject md5 clients, server schannel, server schannel require seal,
  syslog, syslog only, unicode
`);

const choices: readonly (readonly [names: string, values: string])[] = [
  ['acl claims evaluation', 'ad dc only, never'],
  ['ad dc functional level', '2008_r2, 2012, 2012_r2, 2016'],
  ['allow dns updates', '0, disabled, false, no, nonsecure, nonsecure and secure, off, secure only'],
  [
    'case sensitive, casesignames, client schannel, cups encrypt, domain master, ldap follow referral, lm announce, prefered master, preferred master, server schannel, smb3 directory leases, strict locking, vfs mkdir use tmp name',
    '0, 1, auto, false, no, true, yes',
  ],
  [
    'client ipc max protocol, client ipc min protocol, client max protocol, client min protocol, max protocol, min protocol, protocol, server max protocol, server min protocol',
    'core, coreplus, default, lanman1, lanman2, nt1, smb2, smb2_02, smb2_10, smb3, smb3_00, smb3_02, smb3_11',
  ],
  [
    'client ipc signing, client signing, client smb encrypt, server signing, server smb encrypt, smb encrypt',
    '0, 1, auto, default, desired, disabled, enabled, false, force, if_required, mandatory, no, off, on, required, true, yes',
  ],
  ['client ldap sasl wrapping', 'ldaps, plain, seal, sign, start tls, starttls'],
  ['client netlogon ping protocol', 'cldap, ldap, ldaps, start tls, starttls'],
  ['client protection', 'default, plain, sign'],
  ['client use kerberos', 'auto, desired, disabled, no, off, required, yes'],
  ['client use krb5 netlogon', '0, 1, auto, default, false, no, true, yes'],
  ['config backend', 'file, registry'],
  ['csc policy', 'disable, documents, manual, programs'],
  ['debug syslog format', '0, 1, always, false, no, true, yes'],
  ['default case', 'lower, upper'],
  ['inherit owner', 'no, unix only, windows and unix, yes'],
  ['kerberos encryption types', 'all, legacy, strong'],
  ['kerberos method', 'dedicated keytab, default, secrets and keytab, secrets only, system keytab'],
  ['ldap deref', 'always, auto, finding, never, searching'],
  ['ldap passwd sync, ldap password sync', 'no, off, on, only, yes'],
  [
    'ldap server require strong auth',
    '0, 1, allow_sasl_over_tls, allow_sasl_without_tls_channel_bindings, false, no, true, yes',
  ],
  ['ldap ssl', 'no, off, start tls, start_tls, starttls'],
  ['mangled names', '0, 1, false, illegal, no, true, yes'],
  ['map readonly', '0, 1, false, no, permissions, true, yes'],
  ['map to guest', 'bad password, bad uid, bad user, never'],
  ['mdns name', 'mdns, netbios'],
  ['nt hash store', 'always, auto, never'],
  ['ntlm auth', '0, 1, disabled, false, mschapv2-and-ntlmv2-only, no, ntlmv1-permitted, ntlmv2-only, true, yes'],
  ['printing', 'aix, bsd, cups, hpux, iprint, lprng, nt, os2, plp, qnx, sysv'],
  ['security', 'ads, auto, domain, user'],
  [
    'server role',
    'active directory domain controller, auto, classic backup domain controller, classic primary domain controller, dc, domain controller, member, member server, standalone, standalone server',
  ],
  ['smbd profiling level', 'count, off, on'],
  ['spotlight backend', 'elasticsearch, noindex, tracker'],
  ['tls verify peer', 'as_strict_as_possible, ca_and_name, ca_and_name_if_available, ca_only, no_check'],
];

/** The accepted values of parameters with a closed list of values. */
export const parameterChoices: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  choices.flatMap(([some, values]) => list(some).map((name) => [plainName(name), new Set(list(values))] as const)),
);
