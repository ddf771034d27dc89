import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import type { Server } from 'node:net';
import { after, before, test } from 'node:test';
import { AlertWatch } from '../../src/areas/system/alert-watch.ts';
import { notice } from '../../src/areas/system/notice.ts';
import { noticesSocket, takeNotices, tell } from '../../src/cli/notices.ts';
import { problemsOfResources } from '../../src/engine/upkeep/problems.ts';
import { type Appliance, appliance } from '../support/appliance.ts';
import { mail, mailServer, type Post, trustMailServer } from '../support/mail-server.ts';
import { holdfast } from '../support/programs.ts';

let box: Appliance;
let post: Post;
let door: Server;

before(async () => {
  box = await appliance({ sendsMail: true });
  await trustMailServer(box.api);
  post = await mailServer({ secure: true });
  door = await takeNotices(box.folder, (message) => box.app.notices.take(message));
  await box.api.expect(200, 'PUT', 'system/email/', mail(post.port, { em_security: 'ssl' }));
  await box.api.expect(200, 'PUT', 'services/ups/', { ups_driver: 'dummy-ups$Model', ups_port: 'dummy.dev' });
  await box.api.expect(200, 'PUT', 'services/services/ups/', { srv_enable: true });
});

after(async () => {
  door?.close();
  await post?.[Symbol.asyncDispose]();
  await box?.[Symbol.asyncDispose]();
});

const alerts = async () => (await box.api.list('system/alert/')).map(({ level, message }) => [level, message]);

/** As the programs do it: an event by name, words in the environment. */
function notify(
  words: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<{ readonly status: number | null; readonly said: string }> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [holdfast, 'notify', ...words, '--to', box.folder],
      { env: { ...process.env, ...environment } },
      (_error, _stdout, stderr) => resolve({ status: child.exitCode, said: stderr }),
    );
  });
}

const ups = (event: string) => tell(box.folder, { source: 'ups', subject: 'rack@localhost', event, text: '' });

test('what upsmon says is an alert until the opposite is said', async () => {
  assert.deepEqual(await notify(['ups', 'ONBATT'], { UPSNAME: 'rack@localhost' }), { status: 0, said: '' });
  assert.deepEqual(await alerts(), [['WARN', 'The UPS rack@localhost runs on its battery.']]);
  await ups('LOWBATT');
  await ups('COMMBAD');
  assert.deepEqual(await alerts(), [
    ['CRIT', 'The battery of the UPS rack@localhost is low.'],
    ['WARN', 'The UPS rack@localhost stopped answering.'],
  ]);
  await ups('ONLINE');
  await ups('COMMOK');
  assert.deepEqual(await alerts(), []);
});

test('nobody is named: whoever is told of alerts is told, once', async () => {
  const watch = new AlertWatch(box.engine, box.app.mailer, { debug() {}, info() {}, warn() {}, error() {} });
  const before = post.letters.length;
  await ups('ONBATT');
  await watch.look();
  await watch.look();
  assert.equal(post.letters.length, before + 1);
  assert.match(post.letters.at(-1) ?? '', /^To: nas@example\.com\r\n(?:.|\s)*runs on its battery/m);
  await ups('ONLINE');
  await watch.close();
});

test('those whom the settings name get a letter of each event, and nobody else does', async () => {
  const watch = new AlertWatch(box.engine, box.app.mailer, { debug() {}, info() {}, warn() {}, error() {} });
  await box.api.expect(200, 'PUT', 'services/ups/', {
    ups_emailnotify: true,
    ups_toemail: 'a@example.com;b@example.com',
    ups_subject: 'UPS of %h',
  });
  const before = post.letters.length;
  for (const event of ['ONBATT', 'ONLINE', 'REPLBATT']) await ups(event);
  await box.app.notices.close();
  await watch.look();
  const letters = post.letters.slice(before);
  assert.equal(letters.length, 3);
  for (const letter of letters) assert.match(letter, /^To: a@example\.com, b@example\.com\r\nSubject: UPS of nas\r\n/m);
  assert.match(letters[2] ?? '', /needs a new battery/);
  await watch.close();
});

test('a letter that could not be sent goes to whoever is told of alerts, when the mail server is back', async () => {
  const watch = new AlertWatch(box.engine, box.app.mailer, { debug() {}, info() {}, warn() {}, error() {} });
  const before = post.letters.length;
  await box.api.expect(200, 'PUT', 'system/email/', { em_pass: 'a wrong one' });
  await ups('NOCOMM');
  await box.app.notices.close();
  await watch.look();
  assert.equal(post.letters.length, before);
  await box.api.expect(200, 'PUT', 'system/email/', { em_pass: 'its secret' });
  await watch.look();
  assert.equal(post.letters.length, before + 1);
  assert.match(post.letters.at(-1) ?? '', /^To: nas@example\.com\r\n(?:.|\s)*does not answer/m);
  await ups('COMMOK');
  await box.app.notices.close();
  await watch.close();
});

test("smartd's report of a disk is an alert and a letter", async () => {
  await box.api.expect(200, 'PUT', 'services/smart/', { smart_email: 'disks@example.com' });
  const before = post.letters.length;
  const environment = {
    SMARTD_DEVICE: '/dev/sda',
    SMARTD_FAILTYPE: 'CurrentPendingSector',
    SMARTD_FULLMESSAGE: 'Device: /dev/sda, 8 Currently\nunreadable (pending) sectors',
  };
  assert.deepEqual(await notify(['smartd'], environment), { status: 0, said: '' });
  await box.app.notices.close();
  assert.deepEqual((await alerts()).at(0), ['CRIT', environment.SMARTD_FULLMESSAGE]);
  assert.equal(post.letters.length, before + 1);
  assert.match(
    post.letters.at(-1) ?? '',
    /^To: disks@example\.com\r\nSubject: \[Holdfast\] nas: problem with the disk \/dev\/sda\r\n/m,
  );
});

test('an alert that was dismissed comes back when it happens anew', async () => {
  const ofDisk = async () =>
    (await box.api.list('system/alert/')).find(({ message }) => String(message).includes('/dev/sdb'));
  const report = () => tell(box.folder, { source: 'smartd', subject: '/dev/sdb', event: 'Health', text: '' });
  await report();
  assert.equal((await box.api.send('PUT', `system/alert/${(await ofDisk())?.['id']}/dismiss/`, true)).status, 202);
  assert.equal((await ofDisk())?.['dismissed'], true);
  await report();
  await box.app.notices.close();
  assert.equal((await ofDisk())?.['dismissed'], false);
});

test('what neither program would say is refused in words', async () => {
  const before = await alerts();
  const refused = await notify(['ups', 'NOSUCH'], { UPSNAME: 'rack@localhost' });
  assert.deepEqual(
    [refused.status, refused.said],
    [2, 'holdfast: the daemon could not be notified: Expected an event of smartd or upsmon.\n'],
  );
  for (const message of [
    {},
    { source: 'cron', subject: 'x', event: 'y', text: '' },
    { source: 'ups', subject: '', event: 'ONBATT', text: '' },
    { source: 'smartd', subject: 'x', event: 7, text: '' },
  ]) {
    await assert.rejects(tell(box.folder, message), /Expected an event/);
  }
  assert.deepEqual(await alerts(), before);
});

test('a machine that was started anew has forgotten that its power was away, and not that a battery is old', async () => {
  await ups('LOWBATT');
  await box.app.notices.begin(Date.now() + 1000);
  const messages = (await alerts()).map(([, message]) => String(message));
  assert.ok(messages.some((message) => message.includes('new battery')));
  assert.ok(!messages.some((message) => message.includes('is low')));
});

test('that a UPS does not answer is said again and again, and is over when it is not', async () => {
  await ups('NOCOMM');
  const isAlert = (minutes: number) =>
    problemsOfResources([notice], { ...box.engine.world, now: Date.now() + minutes * 60_000 }).some(({ message }) =>
      message.includes('does not answer'),
    );
  assert.deepEqual([isAlert(0), isAlert(10), isAlert(12)], [true, true, false]);
  await ups('COMMOK');
  assert.equal(isAlert(0), false);
});

test('the folder of the socket is opened to nobody but by who owns it', async () => {
  const socket = await stat(noticesSocket(box.folder));
  assert.ok(socket.isSocket());
  assert.deepEqual([socket.mode & 0o777, socket.gid], [0o660, (await stat(box.folder)).gid]);
  assert.equal((await stat(box.folder)).mode & 0o077, 0);
});
