import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually, journal, type Nas, startNas } from '../support/lab/nas.ts';
import { addressOn } from '../support/lab/network.ts';
import { mail, mailServer, type Post, trustMailServer } from '../support/mail-server.ts';

/** The root file system of the machine, which also holds the state folder, becomes full. */
let nas: Nas;
let post: Post;

before(async () => {
  // Its root file system is four fifths of its memory: with less, the kernel ends the daemon for want of memory.
  nas = await startNas({ disks: 1, memory: 2048 });
  post = await mailServer({ secure: true, address: addressOn(0, 2) });
  await trustMailServer(nas.api);
  await nas.api.expect(
    200,
    'PUT',
    'system/email/',
    mail(post.port, { em_security: 'ssl', em_outgoingserver: addressOn(0, 2) }),
  );
  await nas.api.expect(200, 'PUT', 'account/users/1/', { bsdusr_email: 'owner@example.com' });
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    volume_name: 'tank',
    layout: [{ vdevtype: 'stripe', disks: ['ubdc'] }],
  });
  // The job is due every minute.
  await nas.api.expect(201, 'POST', 'tasks/rsync/', {
    rsync_path: '/mnt/tank',
    rsync_remotehost: '127.0.0.1',
    rsync_remotemodule: 'nothing',
    rsync_mode: 'module',
    rsync_user: 'root',
    rsync_minute: '*',
    rsync_hour: '*',
  });
});

after(async () => {
  await nas?.[Symbol.asyncDispose]();
  await post?.[Symbol.asyncDispose]();
});

const alerts = async () => (await nas.api.list('system/alert/')).map(({ message }) => String(message));
const jobs = async () =>
  (await nas.api.list('/api/holdfast/v1/jobs?subject=tasks/rsync/1')).map(({ id }) => Number(id));
const full = /The file system of \/var\/lib\/holdfast is full/;

/** Long lines of a message are wrapped, as quoted-printable or at a blank. */
const plain = (letter: string) => letter.replaceAll('=\r\n', '').replaceAll(/\s+/g, ' ');

/** Fills the rest of the file system, including the blocks reserved for root. */
const fill = () =>
  nas.machine.run(
    'for size in 1G 100M 10M 1M 100K 4K; do while fallocate -l $size /var/filler.$(date +%s%N) 2>/dev/null; do :; done; done; df --output=avail / | tail -1',
  );

test('an alert is raised before the root file system is full', async () => {
  await nas.machine.run(
    'free=$(df --output=avail -B1 / | tail -1); total=$(df --output=size -B1 / | tail -1); fallocate -l $((free - total * 7 / 100)) /var/filler.first',
  );
  await eventually(30, async () =>
    assert.ok(
      (await alerts()).some((message) => message.includes('is almost full')),
      (await alerts()).join('\n'),
    ),
  );
  assert.equal((await nas.api.get('/readyz')).status, 200);
});

test('with a full root file system scheduled work goes on, reads and mail work, and a change is refused with the reason', async () => {
  await fill();
  const earlier = await jobs();
  await eventually(
    150,
    async () => assert.ok((await jobs()).length > earlier.length),
    () => journal(nas.machine),
  );
  assert.equal((await nas.machine.run('systemctl show holdfast -P NRestarts')).trim(), '0');
  const refused = await nas.api.post('tasks/cronjob/', { cron_user: 'root', cron_command: 'true' });
  assert.equal(refused.status, 503, refused.text);
  assert.match(refused.text, full);
  assert.equal((await nas.api.get('/readyz')).status, 503);
  assert.ok((await alerts()).some((message) => full.test(message)));
  await eventually(
    120,
    async () => assert.ok(post.letters.some((letter) => plain(letter).includes('can be read, but not changed'))),
    () => journal(nas.machine),
  );
});

test('the daemon starts on the full file system, and reads', async () => {
  await nas.machine.run('systemctl restart holdfast', { seconds: 200 });
  await eventually(60, async () => assert.equal((await nas.api.list('tasks/rsync/')).length, 1));
  assert.equal((await nas.api.get('/readyz')).status, 503);
  assert.ok((await alerts()).some((message) => full.test(message)));
  await nas.machine.run('systemctl kill -s KILL holdfast; sleep 1');
  await eventually(120, async () => assert.equal((await nas.api.list('tasks/rsync/')).length, 1));
  const earlier = await jobs();
  await eventually(
    150,
    async () => assert.ok((await jobs()).some((id) => !earlier.includes(id))),
    () => journal(nas.machine),
  );
});

test('when there is space again a change works without a restart', async () => {
  const started = await nas.machine.run('systemctl show holdfast -P ExecMainStartTimestamp');
  await nas.machine.run('rm -f /var/filler.*');
  await eventually(
    60,
    async () => assert.equal((await nas.api.get('/readyz')).status, 200),
    () => journal(nas.machine),
  );
  await nas.api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: 'true' });
  assert.ok(!(await alerts()).some((message) => full.test(message)));
  assert.equal(await nas.machine.run('systemctl show holdfast -P ExecMainStartTimestamp'), started);
});
