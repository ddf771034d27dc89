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

export const sshSettings = singleton('services/ssh', {
  title: 'SSH settings',
  description:
    'How the SSH server lets people in. A server that ran before Holdfast came goes on with its own file until these are first changed.',
  fields: {
    ssh_bindiface: list(
      onMachine(
        refine(text({ description: 'Name of an interface.', max: 15 }), (name) =>
          name === '' ? 'The name of an interface is wanted.' : undefined,
        ),
        (name, { network }) =>
          network.links.some((link) => link.name === name) ? undefined : `No interface is called ${quote(name)}.`,
      ),
      { description: 'Interfaces whose addresses the server listens on; all addresses when empty.', max: 64 },
    ),
    ssh_tcpport: port({ description: 'TCP port the server listens on.', initial: 22 }),
    ssh_rootlogin: flag(false, {
      description: 'Whether root may log in with a password, where passwords are taken. With a key it may in any case.',
    }),
    ssh_passwordauth: flag(false, { description: 'Whether accounts may log in with a password.' }),
    // Beyond the document's list (gaps 8.12).
    ssh_kerberosauth: flag(false, { description: 'Whether accounts may log in with a Kerberos ticket.' }),
    ssh_tcpfwd: flag(false, { description: 'Whether clients may forward connections.' }),
    ssh_compression: flag(false, { description: 'Whether data may be compressed.' }),
    ssh_privatekey: secret(
      refine(
        text({
          description: 'A private key in PEM that the server shows clients before its own of the same kind.',
          multiline: true,
          max: 16_384,
        }),
        (value) =>
          value === '' || /^-----BEGIN (\w+ )*PRIVATE KEY-----\n[\s\S]+\n-----END (\w+ )*PRIVATE KEY-----$/.test(value)
            ? undefined
            : 'It is no private key in PEM.',
      ),
    ),
    ssh_sftp_log_level: choice(['', 'QUIET', 'FATAL', 'ERROR', 'INFO', 'VERBOSE', 'DEBUG', 'DEBUG2', 'DEBUG3'], {
      description: "How much of file transfers is logged; the server's own choice, ERROR, when empty.",
      initial: '',
    }),
    ssh_sftp_log_facility: choice(
      ['', 'DAEMON', 'USER', 'AUTH', 'LOCAL0', 'LOCAL1', 'LOCAL2', 'LOCAL3', 'LOCAL4', 'LOCAL5', 'LOCAL6', 'LOCAL7'],
      {
        description:
          "Under which name file transfers are in the system log; the server's own choice, AUTH, when empty.",
        initial: '',
      },
    ),
    ssh_options: configLines({ description: 'Further lines of sshd_config.' }),
    ssh_host_key: privateKey('of the first version of the protocol, which no server speaks any more: always null'),
    ssh_host_key_pub: publicKey('of the first version of the protocol: always null'),
    ssh_host_dsa_key: privateKey('by DSA, when the machine had one. No server takes these any more'),
    ssh_host_dsa_key_pub: publicKey('by DSA, when the machine had one'),
    ssh_host_dsa_key_cert_pub: certificate('by DSA'),
    ssh_host_ecdsa_key: privateKey('by ECDSA'),
    ssh_host_ecdsa_key_pub: publicKey('by ECDSA'),
    ssh_host_ecdsa_key_cert_pub: certificate('by ECDSA'),
    ssh_host_ed25519_key: privateKey('by Ed25519'),
    ssh_host_ed25519_key_pub: publicKey('by Ed25519'),
    ssh_host_ed25519_key_cert_pub: certificate('by Ed25519'),
    ssh_host_rsa_key: privateKey('by RSA, when the machine had one'),
    ssh_host_rsa_key_pub: publicKey('by RSA, when the machine had one'),
    ssh_host_rsa_key_cert_pub: certificate('by RSA'),
    ssh_untouched: hidden(
      flag(false, { description: 'Whether the server goes on with the file it ran with when Holdfast came.' }),
    ),
  },
  // It may be how the machine's owner got in.
  seed: ({ services }) => ({ ssh_untouched: services.get('ssh')?.running === true }),
  // Known clients must not meet another machine.
  adopt: async ({ files }) => hostKeys(files),
  complete: () => ({ ssh_untouched: false }),
});

export const keyKinds = ['ed25519', 'ecdsa', 'rsa'] as const;

/** The machine's own keys, as base64 of their files; those that every server has are made where they are missing. */
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
  return secret(keyFile(`Private host key ${which}; base64 of its file.`));
}

function publicKey(which: string): Field<string | null, 'readOnly'> {
  return keyFile(`Public host key ${which}; base64 of its file.`);
}

function certificate(which: string): Field<string | null, 'readOnly'> {
  return keyFile(`Certificate of the host key ${which}, when the machine had one; base64 of its file.`);
}

function keyFile(description: string): Field<string | null, 'readOnly'> {
  return readOnly(nullable(text({ description, max: 65_536 })));
}
