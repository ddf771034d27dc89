import { ask, askList, askRecord, askRefused, askText, ensure, ensureEchoed, ensureKept, recordIn } from './expect.ts';
import { integer, type Kind, type Shape } from './kinds.ts';
import type { Body, Choices, Collection, Resource, Singleton, Step } from './resource.ts';
import type { World } from './world.ts';

/** Tries everything that the document says of one path. */
export function walk(resource: Resource, step: Step, world: World): Promise<void> {
  switch (resource.kind) {
    case 'collection':
      return walkCollection(resource, step, world);
    case 'singleton':
      return walkSingleton(resource, step, world);
    case 'story':
      return resource.tell(step, world);
  }
}

async function walkCollection(resource: Collection, step: Step, world: World): Promise<void> {
  const { path, status } = resource;
  const key = resource.key ?? ((record: Body) => String(record['id']));
  const shape: Shape = resource.key === undefined ? { id: integer, ...resource.record } : resource.record;
  const at = (record: Body) => `${path}/${key(record).split('/').map(encodeURIComponent).join('/')}`;
  const there = await step('is listed', () => askList(world, path));
  if (there === undefined) return;

  const made: Body[] = [];
  const make = async (more: Body = {}) => {
    const body = { ...(await resource.create(world)), ...more };
    const record = await askRecord(world, status?.created ?? 201, 'POST', `${path}/`, shape, body);
    made.push(record);
    return { body, record };
  };
  await step('is created with what was sent', async () => {
    const { body, record } = await make();
    ensureEchoed(body, record, shape, resource.respelt);
  });
  const [first] = made;
  if (first === undefined) return;
  await step('is created again', make);
  await step('is created a third time', make);
  await listed(path, key, shape, step, world);
  await step('is read alone', async () => {
    const record = await askRecord(world, 200, 'GET', `${at(first)}/`, shape);
    ensure(key(record) === key(first), `GET ${at(first)} answers ${key(record)}`);
  });
  await step('is not found when it is not there', async () => {
    const stranger = resource.key === undefined ? '987654321' : 'conformance-stranger';
    ensure((await world.api.get(`${path}/${stranger}/`)).status === 404, `GET ${path}/${stranger} should answer 404`);
  });
  const { change } = resource;
  if (change !== undefined)
    await step('is changed in what is sent, and only there', async () => {
      const body = await change(world);
      const before = await askRecord(world, 200, 'GET', `${at(first)}/`, shape);
      const after = await askRecord(world, status?.changed ?? 200, 'PUT', `${at(first)}/`, shape, body);
      ensureEchoed(body, after, shape, resource.respelt);
      ensureKept(
        body,
        before,
        after,
        Object.keys(shape).filter((name) => resource.follow?.includes(name) !== true),
      );
    });
  const onCreate = (name: string) => change === undefined || resource.choices?.onCreate?.includes(name) === true;
  await chosen(resource.record, resource.choices, step, world, {
    accept: async (name, body) => {
      if (!onCreate(name)) return askRecord(world, status?.changed ?? 200, 'PUT', `${at(first)}/`, shape, body);
      const { record } = await make(body);
      await ask(world, 204, 'DELETE', `${at(record)}/`);
      made.pop();
      return record;
    },
    refuse: async (name, body) => {
      if (onCreate(name)) await askRefused(world, 'POST', `${path}/`, { ...(await resource.create(world)), ...body });
      else await askRefused(world, 'PUT', `${at(first)}/`, body);
    },
  });
  for (const { method, segment, status: answered, answers, leaves } of resource.actions ?? [])
    await step(`${method} ${segment} says ${answers}`, async () => {
      await askText(world, answered, method, `${at(first)}/${segment}/`, answers);
      if (leaves !== undefined) ensureEchoed(leaves, await askRecord(world, 200, 'GET', `${at(first)}/`, shape), shape);
    });
  await step('is removed', async () => {
    for (const record of made) await ask(world, 204, 'DELETE', `${at(record)}/`);
    ensure(
      (await world.api.get(`${at(first)}/`)).status === 404,
      `GET ${at(first)} should answer 404 once it is removed`,
    );
  });
}

async function walkSingleton(
  { path, record, change, respelt, choices }: Singleton,
  step: Step,
  world: World,
): Promise<void> {
  const shape: Shape = { id: integer, ...record };
  const before = await step('is read', () => askRecord(world, 200, 'GET', `${path}/`, shape));
  if (before === undefined) return;
  const touched = new Set<string>();
  const put = (body: Body) => {
    for (const name of Object.keys(body)) touched.add(name);
    return askRecord(world, 200, 'PUT', `${path}/`, shape, body);
  };
  await step('is changed in what is sent, and only there', async () => {
    const body = await change(world);
    const after = await put(body);
    ensureEchoed(body, after, shape, respelt);
    ensureKept(body, before, after, Object.keys(shape));
    ensureEchoed(body, await askRecord(world, 200, 'GET', `${path}/`, shape), shape, respelt);
  });
  await chosen(record, choices, step, world, {
    accept: (_, body) => put(body),
    refuse: (_, body) => askRefused(world, 'PUT', `${path}/`, body),
  });
  await step('is put back', () =>
    put(
      Object.fromEntries(
        [...touched].filter((name) => Object.hasOwn(before, name)).map((name) => [name, before[name]]),
      ),
    ),
  );
}

/** A list in pages: `limit` and `offset`, and records with all their fields. */
export async function listed(
  path: string,
  key: (record: Body) => string,
  shape: Shape,
  step: Step,
  world: World,
): Promise<void> {
  await step('is listed in pages', async () => {
    const whole = await askList(world, path, '?limit=0');
    for (const record of whole) recordIn(record, shape, `GET ${path}`);
    const keys = whole.map(key);
    const page = async (query: string, from: number, to: number) => {
      const found = (await askList(world, path, query)).map(key);
      ensure(
        found.join(' ') === keys.slice(from, to).join(' '),
        `GET ${path}/${query} answers ${found.join(' ')}, not ${keys.slice(from, to).join(' ')}`,
      );
    };
    await page('', 0, 20);
    await page('?limit=1', 0, 1);
    await page('?offset=1&limit=2', 1, 3);
    await page(`?offset=${keys.length}`, keys.length, keys.length);
  });
}

interface Choosing {
  readonly accept: (name: string, body: Body) => Promise<Body>;
  readonly refuse: (name: string, body: Body) => Promise<void>;
}

/** Each member of each closed list, and one beside it. */
async function chosen(
  record: Shape,
  choices: Choices | undefined,
  step: Step,
  world: World,
  { accept, refuse }: Choosing,
): Promise<void> {
  const fields = Object.entries({ ...record, ...choices?.asked }).filter(
    ([name, kind]) => kind.members !== undefined && choices?.told?.includes(name) !== true,
  );
  for (const [name, { members = [] }] of fields as readonly (readonly [string, Kind])[]) {
    for (const member of members)
      await step(`${name} may be ${member}`, async () => {
        const body = { [name]: member, ...(await choices?.along?.[name]?.(member, world)) };
        ensureEchoed({ [name]: member }, await accept(name, body), record);
      });
    await step(`${name} may be nothing else`, () => refuse(name, { [name]: 'none of them' }));
  }
}
