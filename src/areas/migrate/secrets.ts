/** Secrets in the database of an old appliance. */
import { createDecipheriv } from 'node:crypto';

/** A value that is encrypted and cannot be read. */
export const unreadable = Symbol('unreadable');

const block = 32;
const nonceBytes = 8;
/** The counter of the old appliance begins at 1. */
const firstCounter = Buffer.from('0000000000000001', 'hex');
export const checkText = 'Donuts!';

/** The text behind a stored one. There is no authentication, so padding and characters tell whether the key fits. */
export function decrypted(stored: string, key: Buffer): string | undefined {
  const bytes = cipherBytes(stored);
  if (bytes === undefined) return undefined;
  const counter = Buffer.concat([bytes.subarray(0, nonceBytes), firstCounter]);
  const decipher = createDecipheriv('aes-256-ctr', key, counter);
  const padded = Buffer.concat([decipher.update(bytes.subarray(nonceBytes)), decipher.final()]);
  if (padded.at(-1) !== 0x7b) return undefined;
  const text = new TextDecoder('utf-8', { fatal: true });
  try {
    const plain = text.decode(padded).replace(/\{+$/, '');
    return /[^\P{Cc}\n\r\t]/u.test(plain) ? undefined : plain;
  } catch {
    return undefined;
  }
}

/** The bytes of an encrypted value; undefined for a text that is not encrypted. */
function cipherBytes(stored: string): Buffer | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(stored) || stored.length % 4 !== 0) return undefined;
  const bytes = Buffer.from(stored, 'base64');
  return bytes.length > nonceBytes && (bytes.length - nonceBytes) % block === 0 ? bytes : undefined;
}

/** What a column with secrets holds: earlier versions stored some of them in clear. */
export function secretIn(stored: string, key: Buffer | undefined): string | typeof unreadable {
  if (stored === '' || stored === '*' || cipherBytes(stored) === undefined) return stored;
  return (key && decrypted(stored, key)) ?? unreadable;
}

/** Columns with secrets, by table. */
export const secretColumns: Readonly<Record<string, readonly string[]>> = {
  account_bsdusers: ['bsdusr_smbhash'],
  directoryservice_activedirectory: ['ad_bindpw'],
  directoryservice_idmap_rfc2307: ['idmap_rfc2307_ldap_user_dn_password'],
  directoryservice_kerberoskeytab: ['keytab_file'],
  directoryservice_ldap: ['ldap_bindpw'],
  directoryservice_nt4: ['nt4_adminpw'],
  services_cifs: ['cifs_srv_secrets'],
  services_domaincontroller: ['dc_passwd'],
  services_dynamicdns: ['ddns_password'],
  services_iscsitargetauthcredential: ['iscsi_target_auth_secret', 'iscsi_target_auth_peersecret'],
  services_s3: ['s3_secret_key'],
  services_snmp: ['snmp_v3_password', 'snmp_v3_privpassphrase'],
  services_ssh: [
    ...['ssh_privatekey', 'ssh_host_key', 'ssh_host_dsa_key', 'ssh_host_ecdsa_key', 'ssh_host_ed25519_key'],
    'ssh_host_rsa_key',
  ],
  services_ups: ['ups_monpwd'],
  services_webdav: ['webdav_password'],
  storage_disk: ['disk_passwd'],
  storage_encrypteddataset: ['encryption_key'],
  storage_replication: ['repl_encryption_key'],
  storage_vmwareplugin: ['password'],
  system_acmednsauthenticator: ['attributes'],
  system_advanced: ['adv_sed_passwd'],
  system_certificate: ['cert_privatekey', 'cert_domains_authenticators'],
  system_certificateauthority: ['cert_privatekey'],
  system_cloudcredentials: ['attributes'],
  system_email: ['em_pass', 'em_oauth'],
  system_keychaincredential: ['attributes'],
  system_truecommand: ['api_key', 'wg_private_key'],
  system_twofactorauthentication: ['secret'],
  tasks_cloudsync: ['encryption_password', 'encryption_salt'],
};
