import { refused } from '../../engine/declare/errors.ts';
import type { Operations, Step } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';
import { sshSettings } from '../services/ssh.ts';

/** Authorizes the key of another machine, and returns the host key and the port of the SSH server of this one. */
export async function letIn(
  { key, user }: { readonly key: string; readonly user: string },
  operations: Operations,
): Promise<{ readonly hostkey: string; readonly port: number }> {
  const { view, facts } = operations.world;
  const { ssh_host_ed25519_key_pub: own, ssh_tcpport: port } = view.only(sshSettings);
  const account = facts.accounts.users.find((candidate) => candidate.name === user);
  if (account === undefined) throw refused(`The user ${quote(user)} does not exist.`);
  if (own === null) throw refused('This machine has no SSH host key, so other machines cannot log in.');
  await operations.change(`authorize the key of another machine for ${user}`, (draft) =>
    draft.plan.first(addKey(key, account)),
  );
  const [type, hostkey] = Buffer.from(own, 'base64').toString().split(' ');
  return { hostkey: `${type} ${hostkey}`, port };
}

/**
 * The user may change the folder of the keys meanwhile, so no link on the way to it is followed. The key can run
 * commands, but neither open a terminal nor forward connections.
 */
function addKey(
  key: string,
  { home, uid, gid }: { readonly home: string; readonly uid: number; readonly gid: number },
): Step {
  const file = `${home === '/' ? '' : home}/.ssh/authorized_keys`;
  const options = { within: '/', uid, gid };
  const line = `restrict ${key}`;
  let before: { readonly text: string | undefined } | undefined;
  return {
    title: `add a key to ${file}`,
    async perform({ files }) {
      const text = await files.readPrivate(file, options);
      if (text?.split('\n').some((known) => known === key || known === line)) return;
      before = { text };
      await files.writePrivate(
        file,
        `${text === undefined || text === '' || text.endsWith('\n') ? (text ?? '') : `${text}\n`}${line}\n`,
        options,
      );
    },
    left: async () => before !== undefined,
    async undo({ files }) {
      if (before !== undefined) await files.writePrivate(file, before.text, options);
    },
  };
}
