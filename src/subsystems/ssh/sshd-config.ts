import { keyKinds, type sshSettings } from '../../areas/services/ssh.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import type { DesiredFile } from '../../engine/declare/subsystem.ts';
import { lines } from '../../lib/text.ts';

type Settings = RecordOf<typeof sshSettings.fields>;

/** Separate from the machine's own files, which stay unchanged. */
const folder = '/etc/ssh/holdfast';

export const configFile = `${folder}/sshd_config`;
export const givenKeyFile = `${folder}/ssh_host_given_key`;

/** `addresses` are the ListenAddress lines; undefined means all addresses. */
export function sshdConfig(settings: Settings, addresses: readonly string[] | undefined): string {
  const passwords = yesNo(settings.ssh_passwordauth);
  return lines(
    '# Written by Holdfast.',
    `Port ${settings.ssh_tcpport}`,
    addresses?.map((address) => `ListenAddress ${address}`),
    settings.ssh_privatekey === '' ? undefined : `HostKey ${givenKeyFile}`,
    keysOf(settings).flatMap(({ path, cert }) => [
      `HostKey ${path}`,
      ...(cert === null ? [] : [`HostCertificate ${path}-cert.pub`]),
    ]),
    'UsePAM yes',
    `PermitRootLogin ${settings.ssh_rootlogin ? 'yes' : 'prohibit-password'}`,
    `PasswordAuthentication ${passwords}`,
    // The same passwords, by way of PAM.
    `KbdInteractiveAuthentication ${passwords}`,
    `GSSAPIAuthentication ${yesNo(settings.ssh_kerberosauth)}`,
    `AllowTcpForwarding ${yesNo(settings.ssh_tcpfwd)}`,
    `Compression ${yesNo(settings.ssh_compression)}`,
    'PrintMotd no',
    'AcceptEnv LANG LC_*',
    [
      'Subsystem sftp /usr/lib/openssh/sftp-server',
      argument('-l', settings.ssh_sftp_log_level),
      argument('-f', settings.ssh_sftp_log_facility),
    ].join(''),
    settings.ssh_options === '' ? undefined : settings.ssh_options,
  );
}

/** The host keys, each with its certificate. */
export function keyFiles(settings: Settings): readonly DesiredFile[] {
  return keysOf(settings).flatMap(({ path, key, cert }) => [
    { path, content: decoded(key), mode: 0o600 },
    { path: `${path}-cert.pub`, content: cert === null ? undefined : decoded(cert) },
  ]);
}

/** Makes sshd read Holdfast's file instead of /etc/ssh/sshd_config, which an administrator may have changed. */
export const dropIn: string = lines(
  '# Written by Holdfast.',
  '[Service]',
  'ExecStartPre=',
  `ExecStartPre=/usr/sbin/sshd -t -f ${configFile}`,
  'ExecStart=',
  `ExecStart=/usr/sbin/sshd -D -f ${configFile}`,
  'ExecReload=',
  `ExecReload=/usr/sbin/sshd -t -f ${configFile}`,
  'ExecReload=/bin/kill -HUP $MAINPID',
);

function keysOf(settings: Settings) {
  return keyKinds.flatMap((kind) => {
    const key = settings[`ssh_host_${kind}_key`];
    return key === null
      ? []
      : [{ path: `${folder}/ssh_host_${kind}_key`, key, cert: settings[`ssh_host_${kind}_key_cert_pub`] }];
  });
}

function decoded(base64: string): string {
  return Buffer.from(base64, 'base64').toString();
}

function argument(option: string, value: string): string {
  return value === '' ? '' : ` ${option} ${value}`;
}

function yesNo(value: boolean): string {
  return value ? 'yes' : 'no';
}
