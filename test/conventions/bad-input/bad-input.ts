import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { group } from '../../../src/areas/account/groups.ts';
import { user } from '../../../src/areas/account/users.ts';
import { cifsSettings } from '../../../src/areas/services/cifs.ts';
import { ftpSettings } from '../../../src/areas/services/ftp.ts';
import { cifsShare } from '../../../src/areas/sharing/cifs.ts';
import { cronJob } from '../../../src/areas/tasks/cronjob.ts';
import { maySend } from '../../../src/engine/declare/record.ts';
import type { Resource } from '../../../src/engine/declare/resource.ts';
import { isObject } from '../../../src/lib/json.ts';
import type { ApiAnswer } from '../../support/api.ts';
import { anyCharacter } from '../../support/arbitrary.ts';
import { badBodies, badValues, evil, structureOf } from '../../support/bad-input.ts';
import { isHarmless, pathOf, resourcesAt } from '../../support/catalogue.ts';
import { exampleBody } from '../../support/examples.ts';
import { type Furnished, furnished } from '../../support/furnished.ts';

/** Where a resource takes bodies: an existing record, or the list where there is no changing. */
interface Target {
  readonly resource: Resource;
  readonly method: 'PUT' | 'POST';
  readonly path: string;
  /** What has to be sent besides, so that only the field in question is wrong. */
  readonly around: () => Readonly<Record<string, unknown>>;
  /** Called when a body was accepted: the next one needs a name, and maybe disks, of its own. */
  readonly accepted?: () => void;
  readonly fields: readonly string[];
}

/** Made once: fast-check needs milliseconds to prepare each arbitrary text. */
const anyValue = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: anyCharacter }),
  fc.integer(),
  fc.double(),
  fc.constantFrom(...badValues),
);

async function targetsOf(resource: Resource, world: Furnished): Promise<readonly Target[]> {
  const sendable = Object.entries(resource.fields).filter(([, field]) => maySend(field));
  const targets: Target[] = [];
  if (resource.verbs.includes('update')) {
    const path = `${await world.maker.record(resource)}/`;
    targets.push({
      resource,
      method: 'PUT',
      path,
      around: () => ({}),
      fields: sendable.filter(([, field]) => !field.createOnly).map(([name]) => name),
    });
  }
  if (resource.verbs.includes('create')) {
    const fields = sendable
      .filter(([, field]) => field.createOnly || !resource.verbs.includes('update'))
      .map(([name]) => name);
    let number = world.maker.next(resource.path);
    targets.push({
      ...{ resource, method: 'POST', path: `${pathOf(resource)}/`, fields },
      around: () => exampleBody(resource.path, 'create', number),
      accepted: () => {
        number = world.maker.next(resource.path);
      },
    });
  }
  return targets.filter(({ fields }) => fields.length > 0);
}

/** States of every resource at or below a path, as `storage`, that no input breaks it. */
export function badInputTo(path: string): void {
  for (const resource of resourcesAt(path).filter(
    ({ verbs }) => verbs.includes('update') || verbs.includes('create'),
  )) {
    describe(resource.path, () => {
      let world: Furnished;
      before(async () => {
        world = await furnished();
      });
      after(() => world?.[Symbol.asyncDispose]());

      test(`no value of any field of ${resource.path} breaks anything`, async () => {
        for (const target of await targetsOf(resource, world)) {
          await tryRefused(world, target);
          const first = target.method === 'PUT' ? (await world.api.get(target.path)).json : undefined;
          for (const name of target.fields) {
            for (const value of badValues.filter((value) => !isRefused(target, name, value))) {
              const { status, json } = await tryBody(world, target, { ...target.around(), [name]: value }, name, value);
              const changed =
                isObject(json) && !isDeepStrictEqual(json[name], isObject(first) ? first[name] : undefined);
              if (status < 300 && changed && isObject(first) && Object.hasOwn(first, name)) {
                const back = await world.api.put(target.path, { [name]: first[name] });
                assert.ok(
                  back.status < 300,
                  `${name} cannot be given back the value that was answered, ${JSON.stringify(first[name])}: ${back.text}`,
                );
              }
            }
          }
        }
      });

      test(`a body of 10 MB, or a text of 300 KB in any field, of ${resource.path} is refused in few words`, async () => {
        for (const target of await targetsOf(resource, world)) {
          for (const [place, name] of target.fields.entries()) {
            const long = 'a'.repeat(place < 2 ? 900 * 1024 : 300 * 1024);
            const answer = await tryBody(world, target, { ...target.around(), [name]: long }, name, long);
            assert.ok(answer.status >= 400 && answer.status < 500, `${name} answered ${answer.status}`);
            assert.ok(answer.text.length < 4000, `${name}: the answer repeats what was sent`);
          }
          const [name = ''] = target.fields;
          const larger = await world.api.send(target.method, target.path, {
            ...target.around(),
            [name]: 'a'.repeat(10 * 1024 ** 2),
          });
          assert.equal(larger.status, 413);
          assert.ok(larger.text.length < 4000, 'the answer repeats what was sent');
        }
      });

      test(`no body as a whole breaks ${resource.path}`, async () => {
        for (const target of await targetsOf(resource, world))
          for (const body of badBodies) await tryRaw(world, target, body);
      });

      test(`whatever is drawn at random for ${resource.path} is taken or refused, never an accident`, async () => {
        for (const target of await targetsOf(resource, world)) {
          const body = fc.dictionary(fc.constantFrom(...target.fields), anyValue, { maxKeys: 5 });
          await fc.assert(
            fc.asyncProperty(body, async (members) => {
              await tryRaw(world, target, JSON.stringify({ ...target.around(), ...members }));
            }),
            { numRuns: 100, seed: 7 },
          );
          await fc.assert(
            fc.asyncProperty(fc.json({ maxDepth: 4 }), async (text) => {
              await tryRaw(world, target, text);
            }),
            { numRuns: 30, seed: 7 },
          );
        }
        await assertStructure(world, 'in the end');
      });
    });
  }
}

/** Whether the field itself refuses the value, whatever the other fields are. */
function isRefused({ resource }: Target, name: string, value: unknown): boolean {
  const field = resource.fields[name];
  return field !== undefined && value !== null && !field.read(value).ok;
}

/** Sends each value to all fields that refuse it, in one body, because the answer has to name them all. */
async function tryRefused(world: Furnished, target: Target): Promise<void> {
  const { resource } = target;
  for (const value of badValues) {
    const names = target.fields.filter((name) => isRefused(target, name, value));
    if (names.length === 0) continue;
    const body = { ...target.around(), ...Object.fromEntries(names.map((name) => [name, value])) };
    const { status, text, json } = await tryRaw(world, target, JSON.stringify(body), `${names} = ${shown(value)}`);
    assert.equal(status, resource.quirks.invalid ?? 409, `${names} = ${shown(value)}: ${text.slice(0, 300)}`);
    const unnamed = names
      .map((name) => resource.quirks.issueNames?.[name] ?? name)
      .filter((name) => !isObject(json) || !Array.isArray(json[name]));
    assert.deepEqual(unnamed, [], `${shown(value)} is refused without these names: ${text.slice(0, 300)}`);
  }
}

async function tryBody(
  world: Furnished,
  target: Target,
  body: unknown,
  name: string,
  value: unknown,
): Promise<ApiAnswer> {
  const answer = await tryRaw(world, target, JSON.stringify(body), `${name} = ${shown(value)}`);
  if (isRefused(target, name, value)) {
    assert.equal(
      answer.status,
      target.resource.quirks.invalid ?? 409,
      `${name} = ${shown(value)}: ${answer.text.slice(0, 300)}`,
    );
    const told = target.resource.quirks.issueNames?.[name] ?? name;
    assert.ok(
      isObject(answer.json) && Array.isArray(answer.json[told]),
      `${name} = ${shown(value)} is refused without its name: ${answer.text.slice(0, 300)}`,
    );
  }
  return answer;
}

async function tryRaw(
  world: Furnished,
  { method, path, accepted }: Target,
  body: string,
  about = body,
): Promise<ApiAnswer> {
  const revision = newestRevision(world);
  world.faults.heal();
  const answer = await world.api.send(method, path, body);
  const told = `${method} ${path} with ${shown(about)} answered ${answer.status} ${answer.text.slice(0, 300)}`;
  assert.ok(answer.status < 500, told);
  if (answer.status >= 400 && world.faults.titles.some((call) => !isHarmless(call))) {
    // The machine itself refused it. Once more, with a look before and after.
    const before = [await world.machineState(), world.keptState()];
    assert.equal((await world.api.send(method, path, body)).status, answer.status, told);
    assert.deepEqual([await world.machineState(), world.keptState()], before, `${told}, but something was done`);
  } else if (answer.status >= 400) {
    assert.deepEqual(
      world.faults.titles.filter((call) => !isHarmless(call)),
      [],
      `${told}, but something was done`,
    );
    assert.equal(newestRevision(world), revision, `${told}, but something was kept`);
    assert.notEqual(answer.text, '', told);
  } else {
    accepted?.();
    await assertStructure(world, told);
    const read = method === 'PUT' ? await world.api.get(path) : undefined;
    if (read !== undefined) assert.equal(read.text, answer.text, `${told}, and GET answers something else`);
  }
  return answer;
}

const newestRevisions = new WeakMap<Furnished, number>();

/** Reads only those since it was last asked: one that has a long text takes a millisecond. */
function newestRevision(world: Furnished): number {
  let newest = newestRevisions.get(world) ?? world.engine.revisions(1)[0]?.number ?? 0;
  for (const { number } of world.engine.revisionsAfter(newest)) newest = number;
  newestRevisions.set(world, newest);
  return newest;
}

/** Characters of a value that a failure shows. */
const shownCharacters = 120;

function shown(value: unknown): string {
  // Texts have up to ten megabytes.
  const start = typeof value === 'string' ? value.slice(0, shownCharacters) : value;
  return (JSON.stringify(start) ?? String(start)).slice(0, shownCharacters);
}

/** Parameters that only the lines of people may bring, and sections that nothing may. */
async function assertStructure({ engine, machine }: Furnished, told: string): Promise<void> {
  const { view } = engine.world;
  const structure = await structureOf(machine);
  const shares = [...view.groups(cifsShare).values()].flat();
  assert.deepEqual(
    structure.shares,
    ['global', ...shares.map((share) => (share.cifs_home ? 'homes' : share.cifs_name))],
    `${told}: sections of smb.conf`,
  );
  const own = [view.only(cifsSettings).cifs_srv_smb_options, ...shares.map((share) => share.cifs_auxsmbconf)].join(
    '\n',
  );
  if (own.trim() === '') {
    assert.deepEqual(
      structure.parameters.filter(
        (line) => /^[^:]*: (evil|include|root preexec|preexec)/.test(line) && !line.startsWith('homes: root preexec'),
      ),
      [],
      told,
    );
    assert.deepEqual(
      structure.parameters.filter((line) => /map to guest/i.test(line)),
      ['global: map to guest = Bad User'],
      told,
    );
  }
  const openers = structure.directives.filter((line) => /^<(?!\/)/.test(line)).map((line) => line.split(/[\s>]/)[0]);
  if (view.only(ftpSettings).ftp_options === '') {
    const anonymous = openers.filter((line) => line === '<Anonymous').length;
    assert.ok(anonymous <= 1, told);
    assert.deepEqual(
      openers.filter((line) => !['<IfModule', '<IfDefine', '<Limit', '<Anonymous'].includes(line ?? '')),
      [],
      told,
    );
    assert.deepEqual(
      structure.directives.filter((line) => line.toLowerCase().startsWith(evil)),
      [],
      told,
    );
  }
  const jobs = view.all(cronJob).filter((job) => job.cron_enabled);
  assert.deepEqual(
    structure.cronAccounts,
    jobs.map((job) => job.cron_user),
    `${told}: lines of the cron table`,
  );
  assert.equal(
    structure.sudoers.length,
    view.all(user).filter((one) => one.bsdusr_sudo).length + view.all(group).filter((one) => one.bsdgrp_sudo).length,
    told,
  );
  for (const line of structure.sudoers) assert.match(line, /^%?(\\[^\n]|[A-Za-z0-9_.-])+ ALL=\(ALL:ALL\) ALL$/, told);
  const withPassword = view.all(user).filter((one) => one.bsdusr_smbhash !== '*' && one.bsdusr_uid !== 0);
  assert.deepEqual(
    structure.smbPasswords.map((line) => line.split(':')[0]),
    withPassword.map((one) => one.bsdusr_username),
    told,
  );
  for (const line of structure.smbPasswords)
    assert.match(line, /^[^:]+:\d+:X{32}:[0-9A-F]{32}:\[[A-Z ]{11}\]:LCT-[0-9A-F]{8}:$/, told);
}
