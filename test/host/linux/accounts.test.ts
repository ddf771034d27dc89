import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { LinuxAccounts } from '../../../src/host/linux/accounts.ts';
import { isInFiles, readGroups, readHashes, readShells, readUsers } from '../../../src/host/linux/accounts-read.ts';
import { HelperRunner, type Runner } from '../../../src/host/linux/runner.ts';
import { Tree } from '../../../src/host/linux/tree.ts';
import type { UserSpec } from '../../../src/host/ports/accounts.ts';
import { finallyOf, scratchFolder } from '../../support/hosts.ts';
import { refused } from '../contract/support.ts';

const ledger = '/var/lib/holdfast/accounts.json';

interface Place {
  readonly accounts: LinuxAccounts;
  readonly tree: Tree;
  readonly root: string;
  /** The arguments of the programs that were run, without the secrets on their standard input. */
  readonly lines: readonly string[];
}

/** Account files in the test's own folder: the tools of `passwd` also work there. */
function machineFolder(t: TestContext): string {
  const root = scratchFolder(t);
  mkdirSync(`${root}/etc`);
  writeFileSync(
    `${root}/etc/passwd`,
    'root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n',
  );
  writeFileSync(`${root}/etc/group`, 'root:x:0:\ndaemon:x:1:\n');
  writeFileSync(`${root}/etc/shadow`, 'root:*:20000:0:99999:7:::\ndaemon:*:20000:0:99999:7:::\n');
  writeFileSync(`${root}/etc/gshadow`, 'root:*::\ndaemon:*::\n');
  writeFileSync(`${root}/etc/shells`, '# shells\n/bin/sh\n/bin/bash\n');
  chmodSync(`${root}/etc/shadow`, 0o640);
  return root;
}

function placeFor(t: TestContext, fail?: (argv: readonly string[]) => boolean): Place {
  const root = machineFolder(t);
  const helper = new HelperRunner();
  finallyOf(t, () => helper.close());
  const lines: string[] = [];
  const runner: Runner = {
    run(argv, options) {
      lines.push(argv.join(' '));
      return fail?.(argv) === true
        ? Promise.resolve({ status: 1, stdout: '', stderr: `${argv[0]}: no` })
        : helper.run(argv, options);
    },
    follow: (argv, listener) => helper.follow(argv, listener),
  };
  const tree = new Tree({ root, runner });
  return { accounts: new LinuxAccounts({ runner, tree, ledger }), tree, root, lines };
}

const user = (members: Partial<UserSpec> = {}): UserSpec => ({
  name: 'mary',
  uid: 2000,
  gid: 2000,
  fullName: '',
  home: '/nonexistent',
  shell: '/bin/sh',
  passwordHash: '*',
  groups: [],
  ...members,
});
const skip = process.getuid?.() === 0 ? false : 'the account tools want root';

describe('reading account files', () => {
  test('lines that are not accounts are left out', () => {
    const users = readUsers(
      'root:x:0:0:root,,,:/root:/bin/bash\n# a comment\n+::::::\n\nbroken\nBig$:x:4294967294:5::/:\n',
    );
    assert.deepEqual(
      users.map((one) => [one.name, one.uid, one.gid, one.fullName, one.home, one.shell]),
      [
        ['root', 0, 0, 'root,,,', '/root', '/bin/bash'],
        ['Big$', 4294967294, 5, '', '/', ''],
      ],
    );
  });

  test('groups have members, hashes are by name, shells are paths', () => {
    assert.deepEqual(readGroups('a:x:5:\nb:!:6:x,y\n'), [
      { name: 'a', gid: 5, members: [] },
      { name: 'b', gid: 6, members: ['x', 'y'] },
    ]);
    assert.equal(readHashes('x:$6$a$b:1:::\ny:!*:\n').get('x'), '$6$a$b');
    assert.deepEqual(readShells('# /bin/no\n/bin/sh\n\n  /bin/bash \n'), ['/bin/sh', '/bin/bash']);
  });
});

describe('accounts that Holdfast makes', { skip }, () => {
  test('an account may have a capital name, a high uid and an empty full name', async (t) => {
    const { accounts } = placeFor(t);
    const made = user({ name: 'A.b_C-1$', uid: 4294967294, gid: 4294967294 });
    await accounts.createGroup({ name: 'Group$', gid: 4294967294 });
    await accounts.createUser(made);
    assert.deepEqual(await accounts.owned(), { users: [made], groups: [{ name: 'Group$', gid: 4294967294 }] });
  });

  test('no hash is on a command line', async (t) => {
    const { accounts, root, lines } = placeFor(t);
    await accounts.createGroup({ name: 'g', gid: 2000 });
    await accounts.createUser(user({ passwordHash: '$6$salt$secret' }));
    await accounts.changeUser(user({ passwordHash: '!$6$salt$secret' }));
    assert.ok(!lines.some((line) => line.includes('secret')));
    assert.match(readFileSync(`${root}/etc/shadow`, 'utf8'), /^mary:!\$6\$salt\$secret:/m);
    assert.equal(statSync(`${root}/etc/shadow`).mode & 0o777, 0o640);
    assert.equal(statSync(`${root}${ledger}`).mode & 0o777, 0o600);
  });

  test('a change passes only the different values to usermod', async (t) => {
    const { accounts, lines } = placeFor(t);
    await accounts.createGroup({ name: 'g', gid: 2000 });
    await accounts.createUser(user());
    const before = lines.length;
    await accounts.changeUser(user());
    assert.equal(lines.length, before);
    await accounts.changeUser(user({ fullName: 'Mary' }));
    assert.match(lines.at(-1) ?? '', /^usermod --prefix \S+ --comment=Mary mary$/);
  });

  test('a user whose hash cannot be set is removed again', async (t) => {
    const { accounts, tree } = placeFor(t, ([program]) => program === 'chpasswd');
    await accounts.createGroup({ name: 'g', gid: 2000 });
    await refused(accounts.createUser(user()), /chpasswd: no/);
    assert.deepEqual((await accounts.owned()).users, []);
    assert.ok(!(await accounts.known()).users.some((one) => one.name === 'mary'));
    assert.doesNotMatch((await tree.read(ledger)) ?? '', /mary/);
  });

  test('the machine is asked for accounts by a program only if they can come from a directory', () => {
    const inFiles = (line: string) => isInFiles('passwd', `# x\n${line}\ngroup: files winbind\n`);
    for (const line of ['passwd: files', 'passwd:         files systemd', 'passwd:\tfiles systemd  '])
      assert.ok(inFiles(line), line);
    for (const line of ['passwd: files systemd winbind', 'passwd: ldap files', 'passwd: compat', 'shadow: files', ''])
      assert.ok(!inFiles(line), line);
    assert.ok(!isInFiles('group', 'passwd: files\ngroup: files [NOTFOUND=continue] ldap\n'));
  });

  test('a user is in the ledger before it is made, so that a crash leaves no account outside of it', async (t) => {
    const seen: string[] = [];
    const place: Place = placeFor(t, ([program]) => {
      if (program === 'useradd') seen.push(readFileSync(`${place.root}${ledger}`, 'utf8'));
      return false;
    });
    await place.accounts.createGroup({ name: 'g', gid: 2000 });
    await place.accounts.createUser(user());
    assert.match(seen.join(), /mary/);
  });

  test('an account that no longer exists leaves the ledger, and a later one of that name is not taken for it', async (t) => {
    const { accounts, tree, root } = placeFor(t);
    await tree.write(ledger, '{"users":["mary"],"groups":["g"]}');
    assert.deepEqual(await accounts.owned(), { users: [], groups: [] });
    writeFileSync(`${root}/etc/passwd`, 'root:x:0:0:root:/root:/bin/bash\nmary:x:5:5::/:/bin/sh\n');
    assert.deepEqual((await accounts.owned()).users, []);
    await refused(accounts.removeUser('mary'), /not made by Holdfast/);
  });

  test('a group of the user’s name stays when the user is removed', async (t) => {
    const { accounts } = placeFor(t);
    await accounts.createGroup({ name: 'mary', gid: 2000 });
    await accounts.createUser(user());
    await accounts.removeUser('mary');
    assert.deepEqual(await accounts.owned(), { users: [], groups: [{ name: 'mary', gid: 2000 }] });
  });

  test('values that the files cannot hold are refused before anything happens', async (t) => {
    const { accounts, lines } = placeFor(t);
    await refused(accounts.createGroup({ name: '-x', gid: 5 }), /not a valid group name/);
    await refused(accounts.createUser(user({ name: 'a:b' })), /not a valid user name/);
    await refused(accounts.createUser(user({ fullName: 'a:b' })), /colon/);
    await refused(accounts.createUser(user({ passwordHash: 'x\nroot:y' })), /password hash/);
    await refused(accounts.createUser(user({ groups: ['a,b'] })), /not a valid group name/);
    assert.deepEqual(lines, []);
  });

  test('a damaged ledger is not overwritten', async (t) => {
    const { accounts, tree } = placeFor(t);
    await tree.write(ledger, 'nonsense');
    await refused(accounts.createGroup({ name: 'g', gid: 5 }), /is damaged/);
    assert.equal(await tree.read(ledger), 'nonsense');
  });
});
