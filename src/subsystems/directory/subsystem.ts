import { certificateAuthority } from '../../areas/certificates/certificateauthority.ts';
import { domainSettings } from '../../areas/directoryservice/activedirectory.ts';
import { isMember } from '../../areas/directoryservice/domain-access.ts';
import { kerberosKeytab } from '../../areas/directoryservice/kerberoskeytab.ts';
import { kerberosPrincipal } from '../../areas/directoryservice/kerberosprincipal.ts';
import { ldapSettings, serverOf } from '../../areas/directoryservice/ldap.ts';
import { nisSettings } from '../../areas/directoryservice/nis.ts';
import type { DesiredService, Subsystem } from '../../engine/declare/subsystem.ts';
import { isStandalone } from '../local.ts';
import { authorityFile, keytabDropIn, keytabFile, keytabFor, nslcdConf } from './nslcd-conf.ts';
import { nsswitchConf } from './nsswitch-conf.ts';
import { ypbindDefaults, ypConf } from './yp-conf.ts';

export const directorySubsystem: Subsystem = {
  name: 'directory',
  description: 'Accounts of LDAP directories, NIS domains and Active Directory domains.',
  reads: [domainSettings, ldapSettings, nisSettings, certificateAuthority, kerberosPrincipal, kerberosKeytab],
  services: ['nslcd', 'ypbind'],
  local: [
    { path: '/etc/nslcd.conf', isDefault: isExample },
    { path: '/etc/nsswitch.conf', isDefault: isPackaged },
    // As a domain member, Samba also provides accounts through nsswitch.conf.
    { path: '/etc/samba/smb.conf', isDefault: isStandalone },
  ],
  uses: ['membership'],
  after: ['accounts'],
  render(view, facts) {
    const ldap = view.only(ldapSettings);
    const server = serverOf(ldap, view);
    const keytab = keytabFor(server);
    const nis = view.only(nisSettings);
    // Files of a disabled directory are removed, because some contain a password.
    const whileLdap = (content: string) => (ldap.ldap_enable ? content : undefined);
    const whileNis = (content: string) => (nis.nis_enable ? content : undefined);
    const sources = [
      ...(ldap.ldap_enable ? ['ldap'] : []),
      ...(nis.nis_enable ? ['nis'] : []),
      ...(isMember(view.only(domainSettings), facts) ? ['winbind'] : []),
    ];
    const [nslcd, yp, ypbind] = [nslcdConf(ldap, server), ypConf(nis), ypbindDefaults(nis)];
    return {
      files: [
        { path: authorityFile, content: server.authority === undefined ? undefined : whileLdap(server.authority) },
        { path: '/etc/nslcd.conf', mode: 0o600, content: whileLdap(nslcd) },
        {
          path: keytabFile,
          mode: 0o600,
          encoding: 'base64',
          content: keytab === undefined ? undefined : whileLdap(keytab),
        },
        {
          path: '/etc/systemd/system/nslcd.service.d/holdfast.conf',
          forServiceManager: true,
          content: keytab === undefined ? undefined : whileLdap(keytabDropIn),
        },
        { path: '/etc/defaultdomain', content: whileNis(`${nis.nis_domain}\n`) },
        { path: '/etc/yp.conf', content: whileNis(yp) },
        { path: '/etc/default/nis', content: whileNis(ypbind) },
        { path: '/etc/nsswitch.conf', content: nsswitchConf(sources) },
      ],
      services: [
        serviceOf('nslcd', ldap.ldap_enable, [nslcd, server.authority ?? '', keytab ?? ''].join('\n')),
        serviceOf('ypbind', nis.nis_enable, [nis.nis_domain, yp, ypbind].join('\n')),
      ],
    };
  },
};

/** Whether nslcd.conf is what the package writes when debconf asks no questions. */
export function isExample(nslcdConf: string): boolean {
  return nslcdConf
    .split('\n')
    .every(
      (line) =>
        !/^\s*(uri|base)\s/.test(line) || /^uri ldap:\/\/127\.0\.0\.1\/$|^base dc=example,dc=net$/.test(line.trim()),
    );
}

/**
 * Whether every source of accounts is one that a package adds by itself. LDAP, NIS and winbind count as such here:
 * their own configuration files, also listed in `local`, decide whether an administrator set them up.
 */
export function isPackaged(nsswitch: string): boolean {
  const known = new Set(['files', 'compat', 'db', 'systemd', 'winbind', 'ldap', 'nis']);
  const accounts = nsswitch
    .split('\n')
    .flatMap((line) => /^\s*(?:passwd|group|shadow|gshadow):(.*)$/.exec(line)?.[1]?.trim().split(/\s+/) ?? []);
  return accounts.every((source) => known.has(source));
}

/** Each service restarts only when its own files change. */
function serviceOf(name: string, running: boolean, readAtStart: string): DesiredService {
  return running ? { name, running, onChange: 'nothing', readAtStart } : { name, running, onChange: 'nothing' };
}
