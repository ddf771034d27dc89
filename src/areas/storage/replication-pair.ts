import { refused } from '../../engine/errors.ts';
import type { Operations, Step } from '../../engine/resource.ts';

const hostKeyFile = '/etc/ssh/ssh_host_ed25519_key.pub';

/** Lets another machine's key in, and answers by what key this one is known. */
export async function letIn({ key, user }: { readonly key: string; readonly user: string }, operations: Operations): Promise<{ readonly hostkey: string; readonly port: number }> {
  const account = operations.world.facts.accounts.users.find((one) => one.name === user);
  if (account === undefined) throw refused(`No user is called ${user}.`);
  const keys: (string | undefined)[] = [];
  await operations.change(`let the key of another machine into ${user}`, (draft) => {
    draft.plan.first({
      title: `read ${hostKeyFile}`,
      async perform({ files }) {
        keys.push(await files.read(hostKeyFile));
        if (keys.at(-1) === undefined) throw refused('This machine has no SSH server, so there is nothing to let others into.');
      },
    });
    draft.plan.first(addKey(key, account));
  });
  return { hostkey: (keys.at(-1) ?? '').split(' ').slice(0, 2).join(' ').trim(), port: 22 };
}

function addKey(key: string, { home, uid, gid }: { readonly home: string; readonly uid: number; readonly gid: number }): Step {
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
      await files.write(file, `${before === undefined || before.endsWith('\n') ? (before ?? '') : `${before}\n`}${key}\n`, { mode: 0o600 });
      // sshd reads it as the account.
      if (uid !== 0) await files.setPermissions(folder, { within: home, uid, gid, folderMode: 0o700, fileMode: 0o600, recursive: true });
    },
    left: async () => hadFolder !== undefined,
    async undo({ files }) {
      if (before === undefined) await files.remove(file);
      else await files.write(file, before, { mode: 0o600 });
      if (hadFolder === false) await files.removeEmptyFolder(folder);
    },
  };
}
