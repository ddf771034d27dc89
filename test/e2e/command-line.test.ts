import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { test } from 'node:test';
import { isObject } from '../../src/lib/json.ts';
import { exampleCertificate, exampleKey } from '../support/certificates.ts';
import { Shell } from '../support/command-shell.ts';

function objectIn(text: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(text);
  assert.ok(isObject(value), text);
  return value;
}

test('the first hour of an appliance, by the command line alone', async () => {
  await using shell = await Shell.open();
  // Nothing is there, and the machine says what it has.
  assert.equal(await shell.does('list pool'), '');
  assert.match(await shell.does('list disk -o name'), /^ada0\nada1\n/);
  // A plan changes nothing, and its exit code says that there is something to do.
  const planned = await shell.run('create', 'pool', 'tank', '--layout', 'raidz:ada0,ada1,ada2', '--plan');
  assert.deepEqual([planned.exit, planned.out], [2, 'The command would:\n  create the pool tank\n']);
  assert.equal(await shell.does('list pool'), '');
  assert.equal(await shell.does('create pool tank --layout raidz:ada0,ada1,ada2'), 'Created pool tank.\n');
  assert.equal(await shell.does('create dataset tank/media --quota 1G'), 'Created dataset tank/media.\n');
  assert.equal(
    await shell.does('list dataset -c name,quota'),
    'NAME        QUOTA\ntank        0 B\ntank/media  1.0 GiB\n',
  );
  // People, with names instead of numbers and a secret that is not in the command.
  await shell.does('create group family');
  shell.stdin = 'a long password\n';
  await shell.does('create user anna --full-name Anna --group family --password @-');
  assert.equal(await shell.does('list user --where name=anna -c name,group'), 'NAME  GROUP\nanna  family\n');
  assert.match(await shell.fails(3, 'set user anna --group nobody-knows'), /There is no "nobody-knows" in group/);
  // A share, and the service that serves it.
  await shell.does('create share/smb media --path /mnt/tank/media --guest');
  await shell.does('set service smb --on');
  assert.equal(await shell.does('list service --where on=yes -o name'), 'cifs\nssh\n');
  assert.equal(await shell.does('show share/smb media -c name,guest'), 'name   media\nguest  yes\n');
  // A mistake is explained with the option and the way out.
  const wrong = await shell.run('set', 'share/smb', 'media', '--path', '/nowhere');
  assert.equal(wrong.exit, 1);
  assert.match(
    wrong.err,
    /^holdfast: --path: Expected a path on a volume.*\nholdfast: See: holdfast explain share\/smb\.path\n$/,
  );
  assert.match(await shell.does('explain share/smb.path'), /^share\/smb\.path: The folder/);
  // A change that was a mistake is taken back.
  await shell.run('set', 'share/smb', 'media', '--no-guest', '--why', 'no guests here');
  const newest = objectIn((await shell.does('revisions --limit 1 -o json')).replace(/^\[|\]\n$/g, ''));
  assert.deepEqual([newest['title'], newest['comment']], ['change the CIFS share media', 'no guests here']);
  await shell.does(`revert ${String(newest['number'])}`);
  assert.equal(await shell.does('list share/smb --where guest=yes -o name'), 'media\n');
  // A task, a snapshot, and work that goes on after the request.
  await shell.does('create snapshot tank/media@monday');
  assert.equal(await shell.does('list snapshot -o name'), 'tank/media@monday\n');
  await shell.run('create', 'task/cron', 'tidy', '--user', 'root', '--command', 'echo tidy');
  const ran = await shell.run('run', 'task/cron', 'tidy');
  assert.equal(ran.exit, 0, ran.err);
  assert.match(ran.err, /Job \d+, .*: finished\n$/);
  assert.match(await shell.does('jobs --limit 1 -c state'), /^STATE\nfinished\n$/);
  assert.match(
    await shell.does('events --no-wait --kind record --resource share/smb'),
    /record\.changed .*resource=sharing\/cifs what=created/,
  );
  // Nothing is wrong, and the machine is what the configuration describes.
  await shell.does('drift');
  assert.equal(await shell.does('problems'), '');
  // Data is destroyed only by its name.
  assert.match(await shell.fails(1, 'delete dataset tank/media'), /cannot be taken back.*--yes=tank\/media/);
  shell.answers = ['tank'];
  assert.match(await shell.fails(1, 'delete snapshot tank/media@monday'), /Nothing was changed/);
  shell.answers = ['tank/media@monday'];
  assert.equal(await shell.does('delete snapshot tank/media@monday'), 'Deleted snapshot tank/media@monday.\n');
  assert.equal(await shell.does('delete share/smb media'), 'Deleted share/smb media.\n');
});

test('output, exit codes and names', async () => {
  await using shell = await Shell.open();
  await shell.does('create pool tank --layout stripe:ada0');
  for (const [index, name] of ['one', 'two'].entries())
    await shell.does(`create share/nfs /mnt/tank/${name} --comment ${name} --hosts 192.0.2.${index}`);
  // Formats for programs have every field under the names of people.
  const listed: unknown = JSON.parse(await shell.does('list share/nfs -o json'));
  assert.ok(Array.isArray(listed) && isObject(listed[0]));
  assert.deepEqual([listed[0]['paths'], listed[0]['read_only']], [['/mnt/tank/one'], false]);
  assert.equal(
    await shell.does('list share/nfs -c paths,comment -o csv --sort -comment'),
    'paths,comment\n/mnt/tank/two,two\n/mnt/tank/one,one\n',
  );
  assert.equal(await shell.does('show share/nfs /mnt/tank/one -c comment -o table'), 'comment  one\n');
  assert.equal(await shell.does('list share/nfs --limit 1 --where comment~T -o yaml -c comment'), '- comment: two\n');
  // A table has the width of the terminal.
  shell.columns = 40;
  for (const line of (await shell.does('list user')).split('\n')) assert.ok([...line].length <= 40, line);
  shell.columns = undefined;
  // The number of a record is a name for it too, and a name that several have is refused.
  await shell.does('set share/nfs id:1 --comment first');
  assert.equal(await shell.does('list share/nfs -c comment'), 'COMMENT\nfirst\ntwo\n');
  for (const _ of [1, 2]) await shell.does('create task/cron twice --user root --command true');
  assert.match(
    await shell.fails(1, 'delete task/cron twice'),
    /"twice" names 2 records of task\/cron\. Choose one: id:1 or id:2\./,
  );
  // Exit codes.
  assert.match(await shell.fails(3, 'show pool nothing'), /holdfast: /);
  assert.match(await shell.fails(64, 'lst pool'), /has no command "lst"\. Similar: list/);
  assert.match(await shell.fails(64, 'list share/sbm'), /There is no resource "share\/sbm"/);
  assert.match(await shell.fails(64, 'set share/nfs id:1 --coment x'), /no option --coment here\. Similar: comment/);
  assert.match(await shell.fails(1, 'create share/smb media --path /mnt/tank/../x'), /--path/);
  const asJson = objectIn(await shell.fails(3, 'show share/nfs nothing -o json'));
  assert.deepEqual(
    [asJson['exit'], String(asJson['message']).split('.')[0]],
    [3, 'There is no "nothing" in share/nfs'],
  );
  // Any request.
  assert.match(await shell.does('api GET /sharing/nfs/1/'), /"nfs_comment": "first"/);
  assert.match(
    (await shell.run('api', 'PUT', '/sharing/nfs/1/', '{"nfs_comment": "by api"}')).out,
    /"nfs_comment": "by api"/,
  );
  // A pool is destroyed only by its name.
  assert.equal((await shell.run('delete', 'pool', 'tank', '--plan')).exit, 2);
  assert.match(await shell.fails(64, 'delete pool tank --yes=tnak'), /Expected "tank", got "tnak"/);
  assert.equal(await shell.does('delete pool tank --yes=tank'), 'Deleted pool tank.\n');
});

test('a job that fails, and one that was not waited for, have exit codes of their own', async () => {
  await using shell = await Shell.open();
  await shell.does('create pool tank --layout stripe:ada0');
  await shell.does('create task/rsync /mnt/tank/ --user root --remotehost backup --remotemodule store');
  await shell.nas.host.zfs.exportPool('tank');
  const started = await shell.does('run task/rsync id:1 --no-wait');
  assert.match(started, /^(?:.*\n)?Started the job (\d+)\. To follow it: holdfast jobs \1\n$/);
  assert.match(await shell.fails(7, 'run task/rsync id:1'), /The job \d+ failed: Nothing was copied/);
  assert.match(await shell.fails(7, `jobs ${/\d+/.exec(started)?.[0]}`), /The job \d+ failed: Nothing was copied/);
});

test('another appliance by a context, whose key has fewer rights', async () => {
  await using shell = await Shell.open();
  const made = objectIn(await shell.does('create key watch --role metrics -o json'));
  const file = join(shell.folder, 'key');
  writeFileSync(file, `${String(made['key'])}\n`);
  assert.match(await shell.fails(64, 'context add nas http://192.0.2.1 --key x'), /would be sent in clear/);
  await shell.does(`context add nas ${shell.nas.api.url} --key @${file}`);
  assert.match(await shell.does('context list'), /^ {2}local {2}this machine\n\* nas {2}http:\/\/127/);
  assert.match(await shell.does('list key -c name --context local'), /watch/);
  assert.equal(await shell.does('list pool'), '');
  assert.match(await shell.fails(4, 'create share/smb media --path /mnt/tank/x'), /lacks the permission/);
  assert.match(await shell.fails(4, 'login --key wrong'), /^holdfast: nas refused the key\. Nothing was changed\.\n$/);
  assert.equal(await shell.does('list pool'), '');
  const wider = objectIn(await shell.does('create key team --role administrator -o json --context local'));
  shell.stdin = `${String(wider['key'])}\n`;
  assert.equal(await shell.does('login nas'), 'nas accepts the key.\n');
  await shell.does('create group friends');
  await shell.does('delete key team --yes=team --context local');
  assert.match(await shell.fails(4, 'list pool'), /nas refused the credential\. .*give it with: holdfast login nas\./);
  assert.match(await shell.fails(3, 'login other --key x'), /There is no context "other"/);
  await shell.does('context use local');
  await shell.does('create group team');
  await shell.does('context remove nas');
  assert.match(await shell.fails(3, 'list pool --context nas'), /There is no context "nas"/);
});

test('a key is sent only to the appliance whose certificate was pinned', async () => {
  await using shell = await Shell.open();
  const keys: (string | undefined)[] = [];
  const server = createServer({ cert: exampleCertificate, key: exampleKey }, ({ headers }, response) => {
    keys.push(headers.authorization);
    response.setHeader('content-type', 'application/json').end('[]');
  });
  server.listen(0, '127.0.0.1');
  await using _closed = { [Symbol.asyncDispose]: async () => void server.close().closeAllConnections() };
  await once(server, 'listening');
  const address = server.address();
  assert.ok(isObject(address));
  const url = `https://127.0.0.1:${String(address['port'])}`;
  const { fingerprint256 } = new X509Certificate(exampleCertificate);
  assert.match(
    await shell.fails(64, `context add far ${url} --key secret`),
    new RegExp(`Now it shows ${fingerprint256}`),
  );
  assert.match(await shell.fails(1, `context add far ${url} --key secret --fingerprint AA:BB`), /expected AA:BB/);
  await shell.does(`context add far ${url} --key secret --fingerprint ${fingerprint256}`);
  await shell.does('list pool');
  assert.deepEqual(keys, ['Bearer secret']);
  const file = join(shell.folder, 'holdfast', 'contexts.json');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  writeFileSync(file, readFileSync(file, 'utf8').replace(fingerprint256, fingerprint256.replaceAll(/^../g, '00')));
  assert.match(await shell.fails(6, 'list pool'), /is not the pinned one/);
  assert.equal(keys.length, 1);
});

test('a shell completes commands, options and names of records', async () => {
  await using shell = await Shell.open();
  const completes = async (line: string) => (await shell.does(`__complete ${line}`)).split('\n').filter(Boolean);
  assert.deepEqual(await completes('li'), ['list']);
  assert.deepEqual(await completes('create share/s'), ['share/smb']);
  assert.deepEqual(await completes('create share/smb --guest-'), ['--guest-only']);
  assert.deepEqual(await completes('explain share/smb.guest'), ['share/smb.guest', 'share/smb.guest_only']);
  assert.deepEqual(await completes('set task/snapshot id:1 --ret-unit w'), ['week']);
  await shell.does('create group family');
  assert.deepEqual(await completes('create user anna --group fam'), ['family']);
  assert.deepEqual(await completes('show group fam'), ['family']);
  // Names are taken from the last answer for some seconds: a shell asks at each key.
  await shell.does('delete group family');
  assert.deepEqual(await completes('show group fam'), ['family']);
  for (const name of ['bash', 'zsh', 'fish'])
    assert.match(await shell.does(`completion ${name}`), /holdfast __complete/);
});
