/** The parameters that netatalk 4 knows in afp.conf, from `man 5 afp.conf`; it ignores all others. */
function names(text: string): ReadonlySet<string> {
  return new Set(text.split(',').map((name) => name.trim()));
}

/** Parameters of the section [Global]. */
export const globalParameters = names(`
  ad domain, admin auth user, admin group, advertise ssh, afp interfaces, afp listen, afp port, afp read locks,
  afpstats, appletalk, chmod request, client polling, close vol, cnid mysql db, cnid mysql host, cnid mysql pw,
  cnid mysql user, cnid scheme, cnid server, dbus daemon, ddp address, ddp zone, dircachesize, disconnect time,
  dsireadbuf, extmap file, fce coalesce, fce events, fce holdfmod, fce ignore directories, fce ignore names,
  fce listener, fce notify script, fce sendwait, fce version, force group, force user, force xattr with sticky bit,
  fqdn, guest account, hostname, ignored attributes, k5 keytab, k5 realm, k5 service, ldap auth dn, ldap auth method,
  ldap auth pw, ldap group attr, ldap group filter, ldap groupbase, ldap groupscope, ldap name attr, ldap uri,
  ldap user filter, ldap userbase, ldap userscope, ldap uuid attr, ldap uuid encoding, ldap uuid string, legacy icon,
  log file, log level, log microseconds, login message, mac charset, map acls, max connections, mimic model,
  nt domain, nt separator, passwd file, passwd minlen, recvfile, save password, server name, server quantum,
  set password, signature, sleep time, solaris share reservations, sparql results limit, splice size, spotlight,
  spotlight attributes, spotlight expr, tcprcvbuf, tcpsndbuf, tickleval, timeout, uam list, uam path, unix charset,
  use sendfile, veto message, vol charset, vol dbnest, vol dbpath, vol preset, volnamelen, zeroconf
`);

/** Parameters of the section of a share. */
export const volumeParameters = names(`
  acls, basedir regex, case sensitive, casefold, chmod request, cnid dev, cnid scheme, cnid server,
  convert appledouble, delete veto files, directory perm, ea, file perm, follow symlinks,
  force xattr with sticky bit, home name, hosts allow, hosts deny, ignored attributes, invalid users, invisible dots,
  legacy icon, legacy volume size, login message, mac charset, network ids, password, path, postexec, preexec,
  preexec close, prodos, read only, rolist, rwlist, search db, spotlight, stat vol, time machine, umask, unix priv,
  valid users, veto files, vol charset, vol dbpath, vol preset, vol size limit, volume name
`);
