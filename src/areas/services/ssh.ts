import {
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
} from '../../engine/declare/fields.ts';
import { configLines, port } from '../../engine/declare/formats.ts';
import { singleton } from '../../engine/declare/resource.ts';
import type { Files } from '../../host/ports/files.ts';
import { quote } from '../../lib/text.ts';
import { newKeyFiles } from './openssh.ts';
import { service, tcp } from './service.ts';

export const sshSettings = singleton('services/ssh', {
  title: 'SSH settings',
  description:
    'How accounts log in by SSH. An SSH server that ran before the installation keeps its own configuration file until these settings first change.',
  fields: {
    ssh_bindiface: list(
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
    ssh_tcpport: port({ description: 'TCP port the server listens on.', initial: 22 }),
    ssh_rootlogin: flag(false, {
      description:
        'Whether root may log in with a password when ssh_passwordauth is true. Login with a key is always allowed.',
    }),
    ssh_passwordauth: flag(false, { description: 'Whether accounts may log in with a password.' }),
    // Not listed in the document (gaps 8.12).
    ssh_kerberosauth: flag(false, { description: 'Whether accounts may log in with a Kerberos ticket.' }),
    ssh_tcpfwd: flag(false, { description: 'Whether clients may forward TCP connections.' }),
    ssh_compression: flag(false, { description: 'Whether clients may compress the connection.' }),
    ssh_privatekey: secret(
      refine(
        text({
          description:
            'A private host key in PEM. The server offers it to clients before its own key of the same type.',
          multiline: true,
          max: 16_384,
        }),
        (value) =>
          value === '' || /^-----BEGIN (\w+ )*PRIVATE KEY-----\n[\s\S]+\n-----END (\w+ )*PRIVATE KEY-----$/.test(value)
            ? undefined
            : 'Expected a private key in PEM.',
      ),
    ),
    ssh_sftp_log_level: choice(['', 'QUIET', 'FATAL', 'ERROR', 'INFO', 'VERBOSE', 'DEBUG', 'DEBUG2', 'DEBUG3'], {
      description: 'Log level of SFTP transfers; the default of the server, ERROR, when empty.',
      initial: '',
    }),
    ssh_sftp_log_facility: choice(
      ['', 'DAEMON', 'USER', 'AUTH', 'LOCAL0', 'LOCAL1', 'LOCAL2', 'LOCAL3', 'LOCAL4', 'LOCAL5', 'LOCAL6', 'LOCAL7'],
      {
        description: 'Syslog facility of SFTP transfers; the default of the server, AUTH, when empty.',
        initial: '',
      },
    ),
    ssh_options: configLines({ description: 'Additional lines of sshd_config.' }),
    ssh_host_key: privateKey('of SSH protocol version 1, which no server supports any more: always null'),
    ssh_host_key_pub: publicKey('of SSH protocol version 1: always null'),
    ssh_host_dsa_key: privateKey('of type DSA, if the machine had one. No server supports DSA any more'),
    ssh_host_dsa_key_pub: publicKey('of type DSA, if the machine had one'),
    ssh_host_dsa_key_cert_pub: certificate('of type DSA'),
    ssh_host_ecdsa_key: privateKey('of type ECDSA'),
    ssh_host_ecdsa_key_pub: publicKey('of type ECDSA'),
    ssh_host_ecdsa_key_cert_pub: certificate('of type ECDSA'),
    ssh_host_ed25519_key: privateKey('of type Ed25519'),
    ssh_host_ed25519_key_pub: publicKey('of type Ed25519'),
    ssh_host_ed25519_key_cert_pub: certificate('of type Ed25519'),
    ssh_host_rsa_key: privateKey('of type RSA, if the machine had one'),
    ssh_host_rsa_key_pub: publicKey('of type RSA, if the machine had one'),
    ssh_host_rsa_key_cert_pub: certificate('of type RSA'),
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
});

export const sshService = service('ssh', {
  settings: sshSettings,
  programs: ['ssh'],
  // The port of an SSH server that keeps its own configuration file is unknown here.
  listens: ({ ssh_untouched, ssh_tcpport }) => (ssh_untouched ? [] : [tcp(ssh_tcpport, 'ssh_tcpport')]),
});

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
