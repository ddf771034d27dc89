import { isObject } from '../../src/lib/json.ts';
import { ask, askList, askRecord, askRefused, ensure } from '../expect.ts';
import { each, flag, integer, maybe, oneOf, schedule, text, texts } from '../kinds.ts';
import { newFile } from '../makers.ts';
import { type Area, collection, story } from '../resource.ts';

const cronJobs = collection('tasks/cronjob', {
  record: {
    ...each(text, 'cron_command', 'cron_user', 'cron_description'),
    ...schedule('cron', 'minute', 'hour', 'daymonth', 'month', 'dayweek'),
    ...each(flag, 'cron_enabled', 'cron_stdout', 'cron_stderr'),
  },
  create: () => ({
    cron_user: 'root',
    cron_command: 'true',
    cron_description: 'nothing',
    cron_minute: '*/20',
    cron_hour: '1,2',
  }),
  change: () => ({ cron_enabled: false }),
  actions: [{ method: 'POST', segment: 'run', status: 202, answers: 'Cron job started.' }],
});

const initShutdown = collection('tasks/initshutdown', {
  record: {
    ini_type: oneOf('command', 'script'),
    ini_command: text,
    ini_script: maybe(text),
    ini_when: oneOf('preinit', 'postinit', 'shutdown'),
  },
  create: () => ({ ini_type: 'command', ini_command: 'true', ini_when: 'postinit' }),
  change: () => ({ ini_command: 'false' }),
  choices: {
    along: {
      ini_type: async (type, world) =>
        type === 'script' ? { ini_script: await newFile(world) } : { ini_command: 'true' },
    },
  },
});

const rsync = collection('tasks/rsync', {
  record: {
    ...each(
      text,
      'rsync_path',
      'rsync_user',
      'rsync_remotehost',
      'rsync_remotemodule',
      'rsync_remotepath',
      'rsync_extra',
      'rsync_desc',
    ),
    rsync_mode: oneOf('module', 'ssh'),
    rsync_direction: oneOf('push', 'pull'),
    rsync_remoteport: integer,
    ...schedule('rsync', 'minute', 'hour', 'daymonth', 'month', 'dayweek'),
    ...each(
      flag,
      'rsync_archive',
      'rsync_compress',
      'rsync_times',
      'rsync_preserveattr',
      'rsync_quiet',
      'rsync_recursive',
      'rsync_preserveperm',
      'rsync_enabled',
      'rsync_delete',
    ),
  },
  create: (world) => ({
    rsync_path: `/mnt/${world.target.volume}`,
    rsync_user: 'root',
    rsync_remotehost: 'backup.example.com',
    rsync_remotemodule: 'store',
    rsync_mode: 'module',
  }),
  change: () => ({ rsync_archive: true, rsync_minute: '*/30' }),
  // ssh is tried by itself, for it wants a key in the account's home, which no request of the document puts there.
  choices: { told: ['rsync_mode'] },
  actions: [{ method: 'POST', segment: 'run', status: 202, answers: 'Rsync job started.' }],
});

const smartTests = collection('tasks/smarttest', {
  record: {
    smarttest_type: oneOf('L', 'S', 'C', 'O'),
    smarttest_disks: texts,
    smarttest_desc: text,
    ...schedule('smarttest', 'hour', 'daymonth', 'month', 'dayweek'),
  },
  create: async (world) => {
    // A disk has one schedule of each type.
    const disks = await askList(world, 'storage/disk', '?limit=0');
    const disk = disks[world.next() % disks.length];
    ensure(disk !== undefined, 'there is no disk');
    return { smarttest_disks: [disk['disk_identifier']], smarttest_type: 'L', smarttest_desc: 'once a night' };
  },
  change: () => ({ smarttest_hour: '3' }),
});

const rsyncModes = story('tasks/rsync', async (step, world) => {
  const body = {
    rsync_path: `/mnt/${world.target.volume}`,
    rsync_user: 'root',
    rsync_remotehost: 'backup.example.com',
    rsync_remotemodule: 'store',
    rsync_remotepath: '/store',
  };
  await step('rsync_mode may be module', () =>
    askRecord(
      world,
      201,
      'POST',
      'tasks/rsync/',
      { id: integer, rsync_mode: oneOf('module') },
      { ...body, rsync_mode: 'module' },
    ),
  );
  await step('rsync_mode may be ssh, for who has a key', async () => {
    const { status, json } = await world.api.post('tasks/rsync/', { ...body, rsync_mode: 'ssh', rsync_remoteport: 22 });
    const refused = isObject(json) ? Object.keys(json).join(' ') : '';
    ensure(status === 201 || refused === 'rsync_user', `it answers ${status} and tells of ${refused}`);
  });
  await step('rsync_mode may be nothing else', () =>
    askRefused(world, 'POST', 'tasks/rsync/', { ...body, rsync_mode: 'none of them' }),
  );
  await step('those are removed', async () => {
    const own = (await askList(world, 'tasks/rsync', '?limit=0')).filter(
      ({ rsync_remotehost }) => rsync_remotehost === body.rsync_remotehost,
    );
    for (const { id } of own) await ask(world, 204, 'DELETE', `tasks/rsync/${String(id)}/`);
  });
});

/** The transition of Part A: a PUT switches a cron job off. And a page has twenty records unless another number is asked for. */
const states = story('tasks/cronjob', async (step, world) => {
  const jobs = await step('twenty-one are made', () =>
    Promise.all(
      Array.from({ length: 21 }, () =>
        askRecord(
          world,
          201,
          'POST',
          'tasks/cronjob/',
          { id: integer, cron_enabled: flag },
          { cron_user: 'root', cron_command: 'true' },
        ),
      ),
    ),
  );
  const [first] = jobs ?? [];
  if (jobs === undefined || first === undefined) return;
  await step('a page has twenty', async () =>
    ensure((await askList(world, 'tasks/cronjob')).length === 20, 'a page of another length'),
  );
  await step('cron_enabled goes from true to false', async () => {
    ensure(first['cron_enabled'] === true, 'it is not true at first');
    const { cron_enabled } = await askRecord(
      world,
      200,
      'PUT',
      `tasks/cronjob/${String(first['id'])}/`,
      { cron_enabled: flag },
      { cron_enabled: false },
    );
    ensure(cron_enabled === false, 'it is still true');
  });
  await step('all are removed', async () => {
    for (const { id } of jobs) await ask(world, 204, 'DELETE', `tasks/cronjob/${String(id)}/`);
  });
});

export const tasksArea: Area = {
  name: 'tasks',
  resources: [cronJobs, initShutdown, rsync, rsyncModes, smartTests, states],
};
