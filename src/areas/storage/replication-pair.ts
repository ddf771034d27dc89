import { refused } from '../../engine/declare/errors.ts';
import type { Operations } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';
import { sshSettings } from '../services/ssh.ts';
import { addKey } from './replication-steps.ts';

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
  const file = `${account.home === '/' ? '' : account.home}/.ssh/authorized_keys`;
  const owner = { uid: String(account.uid), gid: String(account.gid) };
  await operations.change(`authorize the key of another machine for ${user}`, (draft) =>
    draft.plan.first(addKey({ key, file, ...owner })),
  );
  const [type, hostkey] = Buffer.from(own, 'base64').toString().split(' ');
  return { hostkey: `${type} ${hostkey}`, port };
}
