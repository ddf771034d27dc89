import { conflict, invalid } from '../../engine/declare/errors.ts';
import { field, flag, good, list, required, wrong } from '../../engine/declare/fields.ts';
import { type OperationCall, operation, section } from '../../engine/declare/operation.ts';
import type { Attempt } from '../../engine/declare/resource.ts';
import { integerOf, listOf, objectOf, orNull, stringOf } from '../../engine/declare/schema.ts';
import { titlesOf } from '../../engine/plan/dry-run.ts';
import type { RequestOutcome } from '../../engine/services.ts';
import { isObject, type JsonObject } from '../../lib/json.ts';
import { quote } from '../../lib/text.ts';
import { bodyWith, namesIn, pathWith, UnknownReference } from './references.ts';

/** One request of a transaction. */
interface Member {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly name: string | undefined;
  readonly ifMatch: string | undefined;
}

const methods = ['POST', 'PUT', 'DELETE'];
const mostRequests = 100;

const member = field<Member>({
  description: 'A request of /api/v1.0/ or /api/holdfast/v1/.',
  schema: {
    type: 'object',
    properties: {
      method: { type: 'string', enum: methods, description: 'Method of the request.' },
      path: {
        type: 'string',
        description:
          'Path below /api/v1.0/, such as sharing/nfs/ or sharing/nfs/{share.id}/, or from the root, such as /api/holdfast/v1/keys.',
      },
      body: { description: 'Body. {"$ref": "share.id"} stands for a value of the result of an earlier request.' },
      name: { type: 'string', description: 'Name by which later requests refer to the result, such as share.' },
      if_match: { type: 'string', description: 'Tag of the record that is changed, as in the header If-Match.' },
    },
    required: ['method', 'path'],
  },
  read(sent) {
    if (!isObject(sent)) return wrong(`Expected an object with method and path, got ${quote(sent)}.`);
    const { method, path, body, name, if_match: ifMatch } = sent;
    if (typeof method !== 'string' || !methods.includes(method))
      return wrong(`Expected the method POST, PUT or DELETE, got ${quote(method)}.`);
    if (typeof path !== 'string' || path.length > 4096)
      return wrong(`Expected a path such as sharing/cifs/ or /api/holdfast/v1/keys, got ${quote(path)}.`);
    if (name !== undefined && !(typeof name === 'string' && /^[A-Za-z][\w-]{0,63}$/.test(name)))
      return wrong(`Expected a name of at most 64 letters, digits, _ and -, got ${quote(name)}.`);
    if (ifMatch !== undefined && typeof ifMatch !== 'string')
      return wrong(`Expected a tag as if_match, got ${quote(ifMatch)}.`);
    return good({ method, path, body, name, ifMatch });
  },
});

const answerOf = objectOf('TransactionAnswer', {
  index: integerOf('Index of the request, from 0.'),
  name: orNull(stringOf('Its name.')),
  status: integerOf('Status of its answer.'),
  body: { description: 'Body of its answer; null without one.' },
});

const requests = required(list(member, { description: 'The requests, in their order.', max: mostRequests }));

export const transactions = section('transactions', 'Several requests as one change.', [
  operation({
    method: 'POST',
    path: 'transactions',
    name: 'transact',
    title: 'Carries out all of these requests as one change and one revision, or none of them.',
    query: { plan: flag(false, { description: 'Whether to answer only what it would do to the machine.' }) },
    body: { requests },
    alone: 'Put its requests into this one.',
    answer: {
      anyOf: [listOf(answerOf), listOf(stringOf('One step, such as create the dataset tank/media.'))],
    },
    example: {
      body: {
        requests: [
          { method: 'POST', path: 'tasks/cronjob/', body: { cron_user: 'root', cron_command: 'true' }, name: 'job' },
          { method: 'PUT', path: 'tasks/cronjob/{job.id}/', body: { cron_description: 'both at once' } },
        ],
      },
    },
    async run(call) {
      const { body, query, context, operations, plan } = call;
      const path = 'api/holdfast/v1/transactions';
      refuseUnclear(body.requests);
      if (query.plan) return titlesOf(await plan({ method: 'POST', path, body: asSent(body.requests) }, context));
      const outcomes = await operations.together(titleOf(body.requests), (attempt) => carryOut(call, attempt));
      return outcomes.map((outcome, index) => ({
        index,
        name: body.requests[index]?.name ?? null,
        ...(outcome.answer() ?? { status: 200, body: null }),
      }));
    },
  }),
]);

type Call = Pick<OperationCall, 'request' | 'refusalOf' | 'context'> & {
  readonly body: { readonly requests: readonly Member[] };
};

/** Carries out the requests one after the other. All that is refused is collected, and then refuses the whole. */
async function carryOut(
  { request, refusalOf, context, body }: Call,
  attempt: Attempt,
): Promise<readonly RequestOutcome[]> {
  const results = new Map<string, unknown>();
  const unknown = new Set<string>();
  const outcomes: RequestOutcome[] = [];
  const problems: JsonObject[] = [];
  for (const [index, { name, ...sent }] of body.requests.entries()) {
    try {
      // What refers to a refused request is not judged: its problems would follow from the other's.
      const isOpen = [...namesIn(sent.path, sent.body)].some((one) => unknown.has(one));
      if (isOpen) {
        if (name !== undefined) unknown.add(name);
        continue;
      }
      const whole = { ...sent, path: pathWith(sent.path, results), body: bodyWith(sent.body, results) };
      const outcome = await attempt((operations) => request(whole, context, operations));
      if (name !== undefined) results.set(name, outcome.result);
      outcomes.push(outcome);
    } catch (error) {
      const refusal =
        error instanceof UnknownReference
          ? { status: 400, body: { error_message: error.message } }
          : refusalOf(sent, error);
      if (refusal === undefined) throw error;
      problems.push({ index, name: name ?? null, ...JSON.parse(JSON.stringify(refusal)) });
      if (name !== undefined) unknown.add(name);
    }
  }
  if (problems.length > 0)
    throw conflict(
      `${problems.length} of ${body.requests.length} requests ${problems.length === 1 ? 'is' : 'are'} refused. Nothing was changed.`,
      { problems },
    );
  return outcomes;
}

function refuseUnclear(all: readonly Member[]): void {
  if (all.length === 0) throw invalid({ requests: ['Expected at least one request.'] });
  const names = all.flatMap(({ name }) => name ?? []);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw invalid({ requests: [`Expected different names, got ${quote(twice)} twice.`] });
}

function titleOf(all: readonly Member[]): string {
  const [{ method = '', path = '' } = {}] = all;
  return `transaction of ${all.length} ${all.length === 1 ? 'request' : 'requests'}, the first ${method} ${path}`;
}

function asSent(all: readonly Member[]): unknown {
  return {
    requests: all.map(({ ifMatch, ...rest }) => ({ ...rest, ...(ifMatch !== undefined && { if_match: ifMatch }) })),
  };
}
