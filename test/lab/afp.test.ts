import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Account, AfpClient, afpErrors, volumeAttributes } from '../support/lab/afp.ts';
import { servicesOf } from '../support/lab/mdns.ts';
import { eventually, type Nas, startNas } from '../support/lab/nas.ts';
import { addressOn } from '../support/lab/network.ts';

/** One machine for the file: each test builds on the results of the earlier ones. */
let nas: Nas;

const mary = { name: 'mary', password: 'correct horse' };
const john = { name: 'john', password: 'battery staple' };
const guest = undefined;

before(async () => {
  nas = await startNas({ disks: 1 });
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }],
  });
  for (const { name, password } of [mary, john]) {
    await nas.api.expect(201, 'POST', 'account/users/', {
      bsdusr_username: name,
      bsdusr_full_name: name,
      bsdusr_password: password,
      bsdusr_creategroup: true,
      bsdusr_shell: '/bin/sh',
    });
  }
  await nas.api.expect(200, 'PUT', 'services/services/afp/', { srv_enable: true });
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
});

/** The server closes its port for a moment when it reads its configuration again. */
const client = () => eventually(10, () => AfpClient.connect(nas.machine.address));

async function loggedIn(account: Account | undefined): Promise<AfpClient> {
  const session = await client();
  const code = await session.login(account);
  if (code === afpErrors.none) return session;
  session[Symbol.dispose]();
  throw new Error(`the login of ${account?.name ?? 'a guest'} was answered with ${code}`);
}

async function shown(account: Account | undefined): Promise<readonly string[]> {
  using session = await loggedIn(account);
  return [...(await session.volumes())].sort();
}

/** The result of writing a file to a share. */
async function writing(account: Account | undefined, share: string, file: string, text = 'text'): Promise<number> {
  using session = await loggedIn(account);
  const { id } = await session.open(share);
  const made = await session.create(id, file);
  return made === afpErrors.none ? await session.write(id, file, Buffer.from(text)) : made;
}

async function attributesOf(share: string): Promise<number> {
  using session = await loggedIn(mary);
  const { code, attributes } = await session.open(share);
  assert.equal(code, afpErrors.none);
  return attributes;
}

/** Creates a share that every account of the machine may write to. Returns its path. */
async function make(name: string, settings: object = {}): Promise<string> {
  const share = await nas.api.expect(201, 'POST', 'sharing/afp/', {
    afp_path: `/mnt/tank/${name}`,
    afp_name: name,
    ...settings,
  });
  await nas.machine.run(`chmod 777 '/mnt/tank/${name}'`);
  return `sharing/afp/${share['id']}/`;
}

async function ownerOf(path: string): Promise<{ readonly uid: number; readonly gid: number }> {
  const [uid = 0, gid = 0] = (await nas.machine.run(`stat -c '%u %g' '${path}'`)).split(' ').map(Number);
  return { uid, gid };
}

/** A changed configuration applies to new sessions, once the server has read it. */
const soon = <T>(question: () => Promise<T>) => eventually(60, question);

test('an account logs in with its password only, and a guest when guests are allowed', async () => {
  await soon(async () => {
    using session = await client();
    assert.deepEqual((await session.status()).methods, ['DHX2']);
  });
  for (const [account, code] of [
    [mary, afpErrors.none],
    [{ ...mary, password: john.password }, afpErrors.notAuthenticated],
    [{ ...mary, name: 'nobody-here' }, afpErrors.notAuthenticated],
    [guest, afpErrors.unknownMethod],
  ] as const) {
    using session = await client();
    assert.equal(await session.login(account), code, account?.name ?? 'a guest');
  }
  await nas.api.expect(200, 'PUT', 'services/afp/', { afp_srv_guest: true });
  await soon(async () => {
    using session = await client();
    assert.deepEqual([...(await session.status()).methods].sort(), ['DHX2', 'No User Authent']);
  });
  using session = await client();
  assert.equal(await session.login(guest), afpErrors.none);
});

test('a file is written to a new share and read back, with the permissions of the share', async () => {
  const path = await make('My Media', { afp_umask: '022', afp_fperm: '640', afp_dperm: '750' });
  await soon(async () => assert.deepEqual(await shown(mary), ['My Media']));
  const text = Buffer.from('Grüße\n'.repeat(5000));
  {
    using session = await loggedIn(mary);
    const { code, id, attributes } = await session.open('My Media');
    assert.equal(code, afpErrors.none);
    assert.equal(attributes & volumeAttributes.unixPrivileges, volumeAttributes.unixPrivileges);
    assert.equal(await session.create(id, 'ein Schlüssel'), afpErrors.none);
    assert.equal(await session.write(id, 'ein Schlüssel', text), afpErrors.none);
    assert.deepEqual(await session.read(id, 'ein Schlüssel'), text);
    assert.equal(await session.createFolder(id, 'a folder'), afpErrors.none);
    const owner = await ownerOf('/mnt/tank/My Media/a folder');
    assert.equal(await session.setMode(id, 'ein Schlüssel', owner, 0o602), afpErrors.none);
    assert.equal(await session.setMode(id, 'a folder', owner, 0o702), afpErrors.none);
    assert.equal(await session.closeVolume(id), afpErrors.none);
    assert.equal(await session.logout(), afpErrors.none);
  }
  assert.equal(await nas.machine.run('cat "/mnt/tank/My Media/ein Schlüssel"'), text.toString());
  assert.equal(
    await nas.machine.run('cd "/mnt/tank/My Media" && stat -c "%U %a" "ein Schlüssel" "a folder"'),
    'mary 640\nmary 2750\n',
  );
  // A guest cannot read an account's private file.
  using session = await loggedIn(guest);
  const { id } = await session.open('My Media');
  assert.equal(await session.read(id, 'ein Schlüssel'), afpErrors.accessDenied);
  await nas.api.expect(200, 'PUT', path, { afp_upriv: false });
  await soon(async () => assert.equal((await attributesOf('My Media')) & volumeAttributes.unixPrivileges, 0));
});

test('the lists determine who may read and who may write', async () => {
  const path = await make('lists', { afp_ro: 'john' });
  await soon(async () => assert.equal(await writing(mary, 'lists', 'one'), afpErrors.none));
  await soon(async () => assert.equal(await writing(john, 'lists', 'two'), afpErrors.volumeLocked));
  using session = await loggedIn(john);
  const { id, attributes } = await session.open('lists');
  assert.equal(attributes & volumeAttributes.readOnly, volumeAttributes.readOnly);
  assert.equal(await session.delete(id, 'one'), afpErrors.volumeLocked);
  await nas.machine.run('chmod 666 /mnt/tank/lists/one');
  assert.deepEqual(await session.read(id, 'one'), Buffer.from('text'));
  await nas.api.expect(200, 'PUT', path, { afp_ro: '', afp_rw: '@john' });
  await soon(async () => assert.equal(await writing(john, 'lists', `three ${Date.now()}`), afpErrors.none));
  await soon(async () => assert.equal(await writing(mary, 'lists', 'four'), afpErrors.volumeLocked));
});

test('the lists determine who may connect', async () => {
  const path = await make('hers', { afp_allow: 'mary' });
  const sees = async (account: Account | undefined) => (await shown(account)).includes('hers');
  await soon(async () => assert.ok(await sees(mary)));
  assert.deepEqual([await sees(john), await sees(guest)], [false, false]);
  using session = await loggedIn(john);
  assert.notEqual((await session.open('hers')).code, afpErrors.none);
  await nas.api.expect(200, 'PUT', path, { afp_allow: '', afp_deny: '@mary nobody' });
  await soon(async () => assert.ok(await sees(john)));
  assert.deepEqual([await sees(mary), await sees(guest)], [false, false]);
});

test('the addresses determine which hosts may connect', async () => {
  const here = addressOn(0, 2);
  const path = await make('hosts', { afp_hostsdeny: here });
  const sees = async () => (await shown(mary)).includes('hosts');
  await make('marker');
  await soon(async () => assert.ok((await shown(mary)).includes('marker')));
  assert.equal(await sees(), false);
  for (const [settings, wanted] of [
    [{ afp_hostsdeny: '' }, true],
    [{ afp_hostsallow: '192.0.2.0/24' }, false],
    [{ afp_hostsallow: `192.0.2.0/24 ${here}` }, true],
  ] as const) {
    await nas.api.expect(200, 'PUT', path, settings);
    await soon(async () => assert.equal(await sees(), wanted, JSON.stringify(settings)));
  }
});

test('a share may require its own password', async () => {
  await make('locked', { afp_sharepw: 'hush' });
  await soon(async () => assert.ok((await shown(mary)).includes('locked')));
  using session = await loggedIn(mary);
  assert.equal((await session.open('locked')).code, afpErrors.accessDenied);
  assert.equal((await session.open('locked', 'guess')).code, afpErrors.accessDenied);
  assert.equal((await session.open('locked', 'hush')).code, afpErrors.none);
});

test('a share for Time Machine is marked as such', async () => {
  await make('backups', { afp_timemachine: true, afp_timemachine_quota: 500 });
  await soon(async () =>
    assert.equal((await attributesOf('backups')) & volumeAttributes.timeMachine, volumeAttributes.timeMachine),
  );
  assert.equal((await attributesOf('lists')) & volumeAttributes.timeMachine, 0);
});

test('clients find the server and its Time Machine share by mDNS', async () => {
  await nas.machine.run('systemctl start avahi-daemon; systemctl restart netatalk');
  await soon(async () => assert.match(await servicesOf('_afpovertcp._tcp.local'), /_afpovertcp/));
  const disks = await soon(async () => {
    const found = await servicesOf('_adisk._tcp.local');
    assert.match(found, /adVN=backups/);
    return found;
  });
  assert.doesNotMatch(disks, /adVN=lists/);
});

test('clients find a Time Machine share of Samba by mDNS', async () => {
  await nas.api.expect(201, 'POST', 'sharing/cifs/', {
    cifs_path: '/mnt/tank/macs',
    cifs_name: 'macs',
    cifs_timemachine: true,
  });
  await nas.api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: true });
  await soon(async () => assert.match(await servicesOf('_adisk._tcp.local'), /adVN=macs/));
  await nas.api.expect(200, 'PUT', 'services/services/cifs/', { srv_enable: false });
});

test('a client beyond the limit is refused until another one leaves', async () => {
  await nas.api.expect(200, 'PUT', 'services/afp/', { afp_srv_connections_limit: 2 });
  await soon(async () => {
    using first = await loggedIn(mary);
    using _second = await loggedIn(john);
    // netatalk compares the limit with the clients before the new one, and so takes one more.
    using _third = await loggedIn(john);
    {
      using fourth = await client();
      assert.notEqual(await fourth.login(mary), afpErrors.none);
    }
    assert.equal(await first.logout(), afpErrors.none);
  });
  await soon(async () => (await loggedIn(mary))[Symbol.dispose]());
  await nas.api.expect(200, 'PUT', 'services/afp/', { afp_srv_connections_limit: 50 });
});

test('additional lines reach the server', async () => {
  await make('frozen', { afp_auxparams: 'read only = yes' });
  await soon(async () => assert.equal(await writing(mary, 'frozen', 'a file'), afpErrors.volumeLocked));
});

test('every account finds its own home folder, and no other', async () => {
  await nas.api.expect(201, 'POST', 'sharing/afp/', { afp_path: '/mnt/tank/homes', afp_home: true });
  const [user] = (await nas.api.list('account/users/?limit=0')).filter((one) => one['bsdusr_username'] === 'mary');
  await nas.machine.run('install -d -o mary -g mary -m 700 /mnt/tank/homes/mary');
  await nas.api.expect(200, 'PUT', `account/users/${user?.['id']}/`, { bsdusr_home: '/mnt/tank/homes/mary' });
  await soon(async () => assert.ok((await shown(mary)).includes("mary's home")));
  assert.deepEqual(
    (await shown(john)).filter((name) => name.endsWith('home')),
    [],
  );
  assert.equal(await writing(mary, "mary's home", 'diary'), afpErrors.none);
  assert.equal(await nas.machine.run('cat /mnt/tank/homes/mary/diary'), 'text');
});

test('a deleted share is gone, and the service stops when it is switched off', async () => {
  await nas.api.delete('sharing/afp/');
  await soon(async () => assert.deepEqual(await shown(mary), []));
  assert.equal(
    (await nas.api.expect(200, 'PUT', 'services/services/afp/', { srv_enable: false }))['srv_state'],
    'STOPPED',
  );
  await assert.rejects(AfpClient.connect(nas.machine.address));
});
