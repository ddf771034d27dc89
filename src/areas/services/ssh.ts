import {
  advanced,
  basic,
  choice,
  type Field,
  flag,
  hidden,
  list,
  nullable,
  onMachine,
  readOnly,
  refine,
  secret,
  text,
  titled,
} from '../../engine/declare/fields.ts';
import { configLines, port } from '../../engine/declare/formats.ts';
import { singleton } from '../../engine/declare/resource.ts';
import type { Files } from '../../host/ports/files.ts';
import { quote } from '../../lib/text.ts';
import { newKeyFiles } from './openssh.ts';
import { service, tcp } from './service.ts';

export const sshSettings = singleton('services/ssh', {
  shortName: 'service/ssh',
  title: 'SSH settings',
  description:
    'How accounts log in by SSH. An SSH server that ran before the installation keeps its own configuration file until these settings first change.',
  fields: {
    ...advanced('Network', {
      ssh_bindiface: titled(
        'Interfaces',
        list(
          onMachine(
            refine(text({ description: 'Name of an interface.', max: 15 }), (name) =>
              name === '' ? 'Expected the name of a network interface, got an empty text.' : undefined,
            ),
            (name, { network }) =>
              network.links.some((link) => link.name === name)
                ? undefined
                : `Network interface ${quote(name)} does not exist.`,
          ),
          { description: 'Interfaces whose addresses the server listens on; all addresses when empty.', max: 64 },
        ),
      ),
    }),
    ...basic('Access', {
      ssh_tcpport: titled('Port', port({ description: 'TCP port the server listens on.', initial: 22 })),
      ssh_rootlogin: titled(
        'Allow root',
        flag(false, {
          description:
            'Whether root may log in with a password when ssh_passwordauth is true. Login with a key is always allowed.',
        }),
      ),
      ssh_passwordauth: titled(
        'Allow passwords',
        flag(false, {
          description:
            'Whether accounts may log in with a password. While it is false, which is the default, the server accepts only SSH keys (bsdusr_sshpubkey of the account) and, with ssh_kerberosauth, Kerberos tickets.',
        }),
      ),
    }),
    ...advanced('Access', {
      // Not listed in the document (gaps 8.12).
      ssh_kerberosauth: titled(
        'Kerberos',
        flag(false, { description: 'Whether accounts may log in with a Kerberos ticket.' }),
      ),
      ssh_tcpfwd: titled('Forward ports', flag(false, { description: 'Whether clients may forward TCP connections.' })),
    }),
    ...advanced('Connections', {
      ssh_compression: flag(false, { description: 'Whether clients may compress the connection.' }),
    }),
    ...advanced('Host key', {
      ssh_privatekey: titled(
        'Host key',
        secret(
          refine(
            text({
              description:
                'A private host key in PEM. The server offers it to clients before its own key of the same type.',
              multiline: true,
              max: 16_384,
            }),
            (value) =>
              value === '' ||
              /^-----BEGIN (\w+ )*PRIVATE KEY-----\n[\s\S]+\n-----END (\w+ )*PRIVATE KEY-----$/.test(value)
                ? undefined
                : 'Expected a private key in PEM.',
          ),
        ),
      ),
    }),
    ...advanced('Log', {
      ssh_sftp_log_level: titled(
        'SFTP log level',
        choice(['', 'QUIET', 'FATAL', 'ERROR', 'INFO', 'VERBOSE', 'DEBUG', 'DEBUG2', 'DEBUG3'], {
          description: 'Log level of SFTP transfers; the default of the server, ERROR, when empty.',
          initial: '',
        }),
      ),
      ssh_sftp_log_facility: titled(
        'SFTP log facility',
        choice(
          [
            '',
            'DAEMON',
            'USER',
            'AUTH',
            'LOCAL0',
            'LOCAL1',
            'LOCAL2',
            'LOCAL3',
            'LOCAL4',
            'LOCAL5',
            'LOCAL6',
            'LOCAL7',
          ],
          {
            description: 'Syslog facility of SFTP transfers; the default of the server, AUTH, when empty.',
            initial: '',
          },
        ),
      ),
    }),
    ...advanced('Further', {
      ssh_options: titled('Additional lines', configLines({ description: 'Additional lines of sshd_config.' })),
    }),
    ssh_host_key: titled(
      'Old host key',
      privateKey('of SSH protocol version 1, which no server supports any more: always null'),
    ),
    ssh_host_key_pub: titled('Old public key', publicKey('of SSH protocol version 1: always null')),
    ssh_host_dsa_key: titled(
      'DSA key',
      privateKey('of type DSA, if the machine had one. No server supports DSA any more'),
    ),
    ssh_host_dsa_key_pub: titled('DSA public key', publicKey('of type DSA, if the machine had one')),
    ssh_host_dsa_key_cert_pub: titled('DSA certificate', certificate('of type DSA')),
    ssh_host_ecdsa_key: titled('ECDSA key', privateKey('of type ECDSA')),
    ssh_host_ecdsa_key_pub: titled('ECDSA public key', publicKey('of type ECDSA')),
    ssh_host_ecdsa_key_cert_pub: titled('ECDSA certificate', certificate('of type ECDSA')),
    ssh_host_ed25519_key: titled('Ed25519 key', privateKey('of type Ed25519')),
    ssh_host_ed25519_key_pub: titled('Ed25519 public key', publicKey('of type Ed25519')),
    ssh_host_ed25519_key_cert_pub: titled('Ed25519 certificate', certificate('of type Ed25519')),
    ssh_host_rsa_key: titled('RSA key', privateKey('of type RSA, if the machine had one')),
    ssh_host_rsa_key_pub: titled('RSA public key', publicKey('of type RSA, if the machine had one')),
    ssh_host_rsa_key_cert_pub: titled('RSA certificate', certificate('of type RSA')),
    ssh_untouched: hidden(
      flag(false, {
        description: 'Whether the server keeps the configuration file that it had before the installation.',
      }),
    ),
  },
  // The administrator may be connected by SSH, so a running server keeps its own configuration at first.
  seed: ({ services }) => ({ ssh_untouched: services.get('ssh')?.running === true }),
  // Clients that know the host keys must not see other ones.
  adopt: async ({ files }) => hostKeys(files),
  complete: () => ({ ssh_untouched: false }),
  note: passwordsAreOff,
});

export const sshService = service('ssh', {
  settings: sshSettings,
  programs: ['ssh'],
  // The port of an SSH server that keeps its own configuration file is unknown here.
  listens: ({ ssh_untouched, ssh_tcpport }) => (ssh_untouched ? [] : [tcp(ssh_tcpport, 'ssh_tcpport')]),
  note: passwordsAreOff,
});

interface Logins {
  readonly ssh_passwordauth: boolean;
  readonly ssh_kerberosauth: boolean;
  readonly ssh_untouched: boolean;
}

/** Most people expect the password of an account to be enough. */
function passwordsAreOff({ ssh_passwordauth, ssh_kerberosauth, ssh_untouched }: Logins): string | undefined {
  // With a configuration of the administrator, that says who may log in.
  if (ssh_passwordauth || ssh_untouched) return undefined;
  const others = ssh_kerberosauth ? 'SSH keys (bsdusr_sshpubkey) and Kerberos tickets' : 'SSH keys (bsdusr_sshpubkey)';
  return `The SSH server refuses passwords and accepts ${others}. Set ssh_passwordauth of services/ssh to allow passwords.`;
}

export const keyKinds = ['ed25519', 'ecdsa', 'rsa'] as const;

/** The host keys of the machine, as base64 of their files. Missing ECDSA and Ed25519 keys are generated. */
async function hostKeys(files: Files) {
  const read = async (kind: string, suffix: string) =>
    encoded(await files.read(`/etc/ssh/ssh_host_${kind}_key${suffix}`));
  const found = async (kind: string) => ({
    key: await read(kind, ''),
    pub: await read(kind, '.pub'),
    cert: await read(kind, '-cert.pub'),
  });
  const made = (kind: 'ecdsa' | 'ed25519') => {
    const { key, pub } = newKeyFiles(kind, 'root@holdfast');
    return { key: encoded(key), pub: encoded(pub), cert: null };
  };
  const [dsa, rsa, ecdsaFound, ed25519Found] = [
    await found('dsa'),
    await found('rsa'),
    await found('ecdsa'),
    await found('ed25519'),
  ];
  const ecdsa = ecdsaFound.key === null ? made('ecdsa') : ecdsaFound;
  const ed25519 = ed25519Found.key === null ? made('ed25519') : ed25519Found;
  return {
    ssh_host_dsa_key: dsa.key,
    ssh_host_dsa_key_pub: dsa.pub,
    ssh_host_dsa_key_cert_pub: dsa.cert,
    ssh_host_ecdsa_key: ecdsa.key,
    ssh_host_ecdsa_key_pub: ecdsa.pub,
    ssh_host_ecdsa_key_cert_pub: ecdsa.cert,
    ssh_host_ed25519_key: ed25519.key,
    ssh_host_ed25519_key_pub: ed25519.pub,
    ssh_host_ed25519_key_cert_pub: ed25519.cert,
    ssh_host_rsa_key: rsa.key,
    ssh_host_rsa_key_pub: rsa.pub,
    ssh_host_rsa_key_cert_pub: rsa.cert,
  };
}

function encoded(file: string | undefined): string | null {
  return file === undefined ? null : Buffer.from(file).toString('base64');
}

function privateKey(which: string): Field<string | null, 'readOnly'> {
  return secret(keyFile(`Private host key ${which}; the file in base64.`));
}

function publicKey(which: string): Field<string | null, 'readOnly'> {
  return keyFile(`Public host key ${which}; the file in base64.`);
}

function certificate(which: string): Field<string | null, 'readOnly'> {
  return keyFile(`Certificate of the host key ${which}, if the machine had one; the file in base64.`);
}

function keyFile(description: string): Field<string | null, 'readOnly'> {
  return readOnly(nullable(text({ description, max: 65_536 })));
}
