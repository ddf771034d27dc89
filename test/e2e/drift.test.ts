/** What happens when a subsystem is changed outside of Holdfast (issue 17, item 6). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Appliance, appliance } from '../support/appliance.ts';
import { withFaults } from '../support/faults.ts';

const root = '/api/holdfast/v1/drift';
const edited = '# Edited by hand.\n';
const file = '/etc/proftpd/proftpd.conf';

const contentOf = (nas: Appliance, path = file) => nas.machine.files.read(path);

async function reportOn(nas: Appliance, subsystem: string) {
  const found = (await nas.api.list(root)).find((report) => report['subsystem'] === subsystem);
  assert.ok(found);
  return found;
}

const drifted = async (nas: Appliance) =>
  (await nas.api.list('/api/holdfast/v1/problems')).filter(({ kind }) => kind === 'drift').map(({ about }) => about);

const setPolicy = (nas: Appliance, subsystem: string, policy: string) =>
  nas.api.expect(200, 'PUT', `${root}/${subsystem}`, { policy });

/** An appliance with an FTP service, whose file somebody has edited. */
async function withEditedFile(policy?: string): Promise<Appliance> {
  const nas = await appliance();
  await nas.api.expect(200, 'PUT', 'services/services/ftp/', { srv_enable: true });
  if (policy !== undefined) await setPolicy(nas, 'ftp', policy);
  await nas.machine.files.write(file, edited);
  return nas;
}

test('by default an edited file is healed, and what was there is kept and named', async () => {
  await using nas = await withEditedFile();
  assert.deepEqual((await reportOn(nas, 'ftp'))['drift'], [`write ${file}`, 'reload proftpd']);
  assert.equal(await contentOf(nas), edited, 'a report changes nothing');
  await nas.engine.inspect();
  assert.notEqual(await contentOf(nas), edited);
  const { drift, policy, healed } = await reportOn(nas, 'ftp');
  assert.deepEqual([drift, policy], [[], 'heal']);
  assert.ok(healed !== null && typeof healed === 'object' && 'kept' in healed && Array.isArray(healed.kept));
  const [kept] = healed.kept;
  assert.match(String(kept), /^\/var\/backups\/holdfast\/edited\/etc\/proftpd\/proftpd\.conf\.\d{4}-/);
  assert.equal(await contentOf(nas, String(kept)), edited);
  assert.deepEqual(await drifted(nas), []);
  const line = nas.log.find(({ message }) => message === 'subsystem ftp: applied after a change outside of Holdfast');
  assert.deepEqual(line?.fields, { subsystem: 'ftp', actions: [`write ${file}`, 'reload proftpd'], kept: [kept] });
  const events = nas.engine.events.since(0).filter(({ name }) => name === 'drift.healed');
  assert.deepEqual(
    events.map(({ payload }) => payload),
    [{ subsystem: 'ftp', actions: [`write ${file}`, 'reload proftpd'], kept: [kept] }],
  );
});

test('with the policy report an edited file is a problem until it is healed or put right', async () => {
  await using nas = await withEditedFile('report');
  await nas.engine.inspect();
  assert.equal(await contentOf(nas), edited);
  assert.deepEqual(await drifted(nas), ['subsystem/ftp']);
  const [problem] = (await nas.api.list('/api/holdfast/v1/problems')).filter(({ kind }) => kind === 'drift');
  assert.deepEqual(problem?.['remedy'], { method: 'POST', path: `${root}/ftp/heal` });
  const healing = await nas.api.expect(200, 'POST', `${root}/ftp/heal`);
  assert.deepEqual(healing['actions'], [`write ${file}`, 'reload proftpd']);
  assert.deepEqual(await drifted(nas), []);
  const right = (await contentOf(nas)) ?? '';
  await nas.machine.files.write(file, edited);
  await nas.engine.inspect();
  assert.deepEqual(await drifted(nas), ['subsystem/ftp']);
  await nas.machine.files.write(file, right);
  await nas.api.list(root);
  assert.deepEqual(await drifted(nas), [], 'it ends as soon as the difference was seen to be gone');
});

test('with the policy ignore an edited file is neither healed nor a problem, and is shown in the report', async () => {
  await using nas = await withEditedFile('ignore');
  await nas.engine.inspect();
  assert.equal(await contentOf(nas), edited);
  assert.deepEqual(await drifted(nas), []);
  assert.deepEqual((await reportOn(nas, 'ftp'))['drift'], [`write ${file}`, 'reload proftpd']);
  nas.machine.services.end('proftpd');
  await new Promise((resolve) => setTimeout(resolve, 1800));
  assert.ok(!nas.machine.services.isRunning('proftpd'));
  assert.ok(!(await nas.api.list('/api/holdfast/v1/problems')).some(({ kind }) => kind === 'ended'));
  await setPolicy(nas, 'ftp', 'heal');
  await nas.engine.inspect();
  assert.notEqual(await contentOf(nas), edited);
  assert.ok(nas.machine.services.isRunning('proftpd'));
});

test('a policy is part of the configuration, and of its backup', async () => {
  await using nas = await appliance();
  assert.deepEqual(await setPolicy(nas, 'ftp', 'report'), { subsystem: 'ftp', policy: 'report' });
  assert.deepEqual(await setPolicy(nas, 'samba', 'ignore'), { subsystem: 'samba', policy: 'ignore' });
  assert.equal((await nas.api.put(`${root}/nosuch`, { policy: 'heal' })).status, 404);
  assert.equal((await nas.api.put(`${root}/ftp`, { policy: 'pray' })).status, 400);
  const backup = await nas.api.expect(200, 'POST', '/api/holdfast/v1/config/backup');
  await setPolicy(nas, 'ftp', 'ignore');
  await nas.api.expect(200, 'POST', '/api/holdfast/v1/config/restore', JSON.parse(JSON.stringify({ file: backup })));
  const again = await nas.restart();
  assert.equal((await reportOn(again, 'ftp'))['policy'], 'report');
  assert.equal((await reportOn(again, 'samba'))['policy'], 'ignore');
  await again.app.close();
});

test('a change and a start keep an edited file that they replace, each content once', async () => {
  await using nas = await withEditedFile('report');
  const copies = (one: Appliance) => one.machine.files.beginning(`/var/backups/holdfast/edited${file}.`);
  await nas.api.expect(200, 'PUT', 'services/ftp/', { ftp_port: 2121 });
  const [kept] = await copies(nas);
  assert.equal(await contentOf(nas, String(kept)), edited);
  await nas.machine.files.write(file, edited);
  const again = await nas.restart();
  assert.notEqual(await contentOf(again), edited);
  assert.deepEqual(await copies(again), [kept]);
  await again.app.close();
});

test('what Holdfast writes itself is not kept', async () => {
  await using nas = await appliance();
  await nas.api.expect(200, 'PUT', 'services/services/ftp/', { srv_enable: true });
  for (const ftp_port of [2121, 2122]) await nas.api.expect(200, 'PUT', 'services/ftp/', { ftp_port });
  const again = await nas.restart();
  assert.deepEqual(await again.machine.files.beginning(`/var/backups/holdfast/edited${file}.`), []);
  assert.ok(!again.log.some(({ message }) => message.startsWith('kept a file')));
  await again.app.close();
});

test('a subsystem that cannot be healed is a problem, and a request gets the error', async () => {
  let faults: ReturnType<typeof withFaults> | undefined;
  await using nas = await appliance({
    around: (host) => {
      faults = withFaults(host);
      return faults.host;
    },
  });
  await nas.machine.files.write('/etc/chrony/chrony.conf', edited);
  assert.ok(faults !== undefined);
  faults.failAt(1);
  const answer = await nas.api.post(`${root}/time/heal`);
  faults.heal();
  assert.equal(answer.status, 400, answer.text);
  assert.ok((await nas.api.list('/api/holdfast/v1/problems')).some(({ about }) => about === 'subsystem/time'));
});
