import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { LinuxAccounts } from '../../../src/host/linux/accounts.ts';
import { readGroups, readHashes, readShells, readUsers } from '../../../src/host/linux/accounts-read.ts';
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
  /** What the programs were told, but the secrets on their standard input. */
  readonly lines: readonly string[];
}

/** Account files in a folder of the test's own: the tools of `passwd` work there too. */
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
  test('lines that are no accounts are left out', () => {
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
  test('names are capital, numbers are high, full names are empty', async (t) => {
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

  test('only what is different is changed', async (t) => {
    const { accounts, lines } = placeFor(t);
    await accounts.createGroup({ name: 'g', gid: 2000 });
    await accounts.createUser(user());
    const before = lines.length;
    await accounts.changeUser(user());
    assert.equal(lines.length, before);
    await accounts.changeUser(user({ fullName: 'Mary' }));
    assert.match(lines.at(-1) ?? '', /^usermod --prefix \S+ --comment=Mary mary$/);
  });

  test('a user whose hash could not be set is not there', async (t) => {
    const { accounts, tree } = placeFor(t, ([program]) => program === 'chpasswd');
    await accounts.createGroup({ name: 'g', gid: 2000 });
    await refused(accounts.createUser(user()), /chpasswd: no/);
    assert.deepEqual((await accounts.owned()).users, []);
    assert.ok(!(await accounts.known()).users.some((one) => one.name === 'mary'));
    assert.doesNotMatch((await tree.read(ledger)) ?? '', /mary/);
  });

  test('a user is remembered before it is made, so that a crash leaves nothing that nobody owns', async (t) => {
    const seen: string[] = [];
    const place: Place = placeFor(t, ([program]) => {
      if (program === 'useradd') seen.push(readFileSync(`${place.root}${ledger}`, 'utf8'));
      return false;
    });
    await place.accounts.createGroup({ name: 'g', gid: 2000 });
    await place.accounts.createUser(user());
    assert.match(seen.join(), /mary/);
  });

  test('what is remembered and not there is forgotten, and nobody’s later account of that name is taken for ours', async (t) => {
    const { accounts, tree, root } = placeFor(t);
    await tree.write(ledger, '{"users":["mary"],"groups":["g"]}');
    assert.deepEqual(await accounts.owned(), { users: [], groups: [] });
    writeFileSync(`${root}/etc/passwd`, 'root:x:0:0:root:/root:/bin/bash\nmary:x:5:5::/:/bin/sh\n');
    assert.deepEqual((await accounts.owned()).users, []);
    await refused(accounts.removeUser('mary'), /not made by Holdfast/);
  });

  test('a group of the user’s name stays when the user goes', async (t) => {
    const { accounts } = placeFor(t);
    await accounts.createGroup({ name: 'mary', gid: 2000 });
    await accounts.createUser(user());
    await accounts.removeUser('mary');
    assert.deepEqual(await accounts.owned(), { users: [], groups: [{ name: 'mary', gid: 2000 }] });
  });

  test('what the files cannot hold is refused before anything happens', async (t) => {
    const { accounts, lines } = placeFor(t);
    await refused(accounts.createGroup({ name: '-x', gid: 5 }), /not a valid group name/);
    await refused(accounts.createUser(user({ name: 'a:b' })), /not a valid user name/);
    await refused(accounts.createUser(user({ fullName: 'a:b' })), /colon/);
    await refused(accounts.createUser(user({ passwordHash: 'x\nroot:y' })), /password hash/);
    await refused(accounts.createUser(user({ groups: ['a,b'] })), /not a valid group name/);
    assert.deepEqual(lines, []);
  });

  test('a ledger that is not ours is not overwritten', async (t) => {
    const { accounts, tree } = placeFor(t);
    await tree.write(ledger, 'nonsense');
    await refused(accounts.createGroup({ name: 'g', gid: 5 }), /not what Holdfast wrote/);
    assert.equal(await tree.read(ledger), 'nonsense');
  });
});
