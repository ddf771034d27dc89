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

function addKey(
  key: string,
  { home, uid, gid }: { readonly home: string; readonly uid: number; readonly gid: number },
): Step {
  const folder = `${home === '/' ? '' : home}/.ssh`;
  const file = `${folder}/authorized_keys`;
  let before: string | undefined;
  let hadFolder: boolean | undefined;
  return {
    title: `add a key to ${file}`,
    async perform({ files }) {
      before = await files.read(file);
      if (before?.split('\n').includes(key)) return;
      hadFolder = (await files.kind(folder)) !== undefined;
      if (!hadFolder) await files.makeFolder(folder, { within: '/', mode: 0o700 });
      await files.write(
        file,
        `${before === undefined || before.endsWith('\n') ? (before ?? '') : `${before}\n`}${key}\n`,
        { mode: 0o600 },
      );
      // sshd reads the file as the user.
      if (uid !== 0)
        await files.setPermissions(folder, {
          within: home,
          uid,
          gid,
          folderMode: 0o700,
          fileMode: 0o600,
          recursive: true,
        });
    },
    left: async () => hadFolder !== undefined,
    async undo({ files }) {
      if (before === undefined) await files.remove(file);
      else await files.write(file, before, { mode: 0o600 });
      if (hadFolder === false) await files.removeEmptyFolder(folder);
    },
  };
}
