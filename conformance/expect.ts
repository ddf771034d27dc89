import { isObject } from '../src/lib/json.ts';
import type { ApiAnswer } from '../test/support/api.ts';
import type { Shape } from './kinds.ts';
import type { Body } from './resource.ts';
import type { World } from './world.ts';

/** Throws what is wrong, in a sentence. */
export function ensure(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new Error(otherwise);
}

function shown(value: unknown): string {
  const json = JSON.stringify(value) ?? 'nothing';
  return json.length > 120 ? `${json.slice(0, 117)}...` : json;
}

/** Sends a request and holds the answer's status and headers against the document. */
export async function ask(
  world: World,
  status: number,
  method: string,
  path: string,
  body?: unknown,
): Promise<ApiAnswer> {
  const answer = await world.api.send(method, path, body);
  ensure(
    answer.status === status,
    `${method} ${path} answers ${answer.status}, not ${status}: ${answer.text.slice(0, 300)}`,
  );
  const type = answer.headers.get('content-type');
  if (status === 204)
    ensure(answer.text === '' && type === null, `${method} ${path} answers 204 with a body or a content type`);
  else if (Array.isArray(answer.json) || isObject(answer.json))
    ensure(type?.startsWith('application/json') === true, `${method} ${path} answers JSON as ${type}`);
  return answer;
}

/** The same for an answer that is one record with these fields. */
export async function askRecord(
  world: World,
  status: number,
  method: string,
  path: string,
  shape: Shape,
  body?: unknown,
): Promise<Body> {
  return recordIn((await ask(world, status, method, path, body)).json, shape, `${method} ${path}`);
}

/** The records of a list; `query` begins with a question mark. */
export async function askList(world: World, path: string, query = ''): Promise<readonly Body[]> {
  const { json } = await ask(world, 200, 'GET', `${path}/${query}`);
  ensure(Array.isArray(json), `GET ${path} does not answer a list`);
  return json.filter(isObject);
}

/** The sentence that an action answers, bare or as a JSON string. */
export async function askText(
  world: World,
  status: number,
  method: string,
  path: string,
  text: string,
  body?: unknown,
): Promise<void> {
  const answer = await ask(world, status, method, path, body);
  const said = typeof answer.json === 'string' ? answer.json : answer.text;
  ensure(said.trim() === text, `${method} ${path} says ${shown(said)}, not ${shown(text)}`);
}

/** A refusal tells in JSON what is wrong. */
export async function askRefused(world: World, method: string, path: string, body: unknown): Promise<void> {
  const answer = await world.api.send(method, path, body);
  ensure(
    answer.status === 400 || answer.status === 409,
    `${method} ${path} with ${shown(body)} answers ${answer.status}, and should refuse it`,
  );
  ensure(answer.json !== undefined, `${method} ${path} refuses ${shown(body)} without JSON`);
}

export function recordIn(value: unknown, shape: Shape, told: string): Body {
  ensure(isObject(value), `${told} does not answer an object`);
  const problems = Object.entries(shape).flatMap(([name, kind]) => {
    if (!Object.hasOwn(value, name)) return [`${name} is missing`];
    return kind.fits(value[name]) ? [] : [`${name} is ${shown(value[name])}, not ${kind.description}`];
  });
  ensure(problems.length === 0, `${told}: ${problems.join('; ')}`);
  return value;
}

/** What was sent is what is answered, where a record has the field: a number as its digits counts as the number. */
export function ensureEchoed(sent: Body, answered: Body, shape: Shape, respelt: readonly string[] = []): void {
  const plain = (value: unknown) =>
    typeof value === 'number' || typeof value === 'boolean'
      ? String(value)
      : JSON.stringify(value ?? '').replace(/^"(.*)"$/, '$1');
  const lost = Object.entries(sent).filter(
    ([name, value]) => Object.hasOwn(shape, name) && !respelt.includes(name) && plain(value) !== plain(answered[name]),
  );
  ensure(
    lost.length === 0,
    lost.map(([name, value]) => `${name} was sent as ${shown(value)} and is ${shown(answered[name])}`).join('; '),
  );
}

/** Fields that were not sent are as they were. */
export function ensureKept(sent: Body, before: Body, after: Body, names: readonly string[]): void {
  const changed = names.filter(
    (name) => !Object.hasOwn(sent, name) && JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  ensure(changed.length === 0, `an update changed ${changed.join(', ')}, which it did not send`);
}
