import type { RequestContext } from '../../engine/change/request.ts';
import type { Act } from '../../engine/declare/access.ts';
import { missing, refused } from '../../engine/declare/errors.ts';
import { text } from '../../engine/declare/fields.ts';
import { Headed, type OperationCall, operation, section } from '../../engine/declare/operation.ts';
import { anyObject, flagOf, listOf, objectOf, orNull, stringOf, timeOf } from '../../engine/declare/schema.ts';
import { own } from '../../engine/plan/steps.ts';
import type { SessionInfo } from '../../engine/services.ts';

const session = objectOf('Session', {
  id: stringOf('Id of the session.'),
  account: stringOf('Account that logged in.'),
  address: stringOf('From where it began.'),
  created: timeOf('When it began.'),
  last_used: timeOf('When it was last used.'),
  ends: timeOf('When it ends if it is not used again.'),
});

const params = { id: text({ description: 'Id of the session.', max: 20 }) };

export const sessions = section('sessions', 'Sessions of browsers, which a cookie carries.', [
  operation({
    method: 'POST',
    path: 'sessions',
    name: 'beginSession',
    alone: 'Sessions are no part of the configuration.',
    title: 'Begins a session of the account that logs in by Basic authentication, and sets its cookie.',
    status: 201,
    answer: session,
    isOpen: true,
    awaitsStart: false,
    async run({ sessions: book, operations, context: { actor, credential, connection } }) {
      if (credential?.kind !== 'password' && credential?.kind !== 'session')
        throw refused('A session begins with the password of an account. Keys need no session.');
      const begun: ReturnType<typeof book.begin>[] = [];
      await operations.perform(
        own(`begin a session of ${actor}`, async () => {
          begun.push(book.begin(actor, connection?.remote ?? '', connection?.isSecure === true));
        }),
      );
      const [made] = begun;
      return made && new Headed(made.session, { 'set-cookie': made.cookie });
    },
  }),
  operation({
    method: 'GET',
    path: 'sessions',
    name: 'listSessions',
    title: 'Lists the open sessions: all for who may manage them, otherwise those of the own account.',
    answer: listOf(session),
    list: { key: ['id'], order: ['created'] },
    isOpen: true,
    run: (call) => visible(call),
  }),
  operation({
    method: 'DELETE',
    path: 'sessions',
    name: 'endSessions',
    alone: 'Sessions are no part of the configuration.',
    title: 'Ends all sessions of an account, by default of the own one, except the session of this request.',
    query: { account: text({ description: 'Name of the account.', max: 64, initial: '' }) },
    status: 204,
    answer: 'nothing',
    isOpen: true,
    awaitsStart: false,
    async run(call) {
      const { sessions: book, operations, query, context } = call;
      const account = query.account || context.actor;
      const ended = visible(call).filter((one) => one.account === account && one.id !== context.credential?.id);
      await operations.perform(
        own(`end the sessions of ${account}`, async () => {
          for (const { id } of ended) book.end(id);
        }),
      );
    },
  }),
  operation({
    method: 'GET',
    path: 'sessions/current',
    name: 'getPrincipal',
    title: 'Answers who sends this request, and what it may do.',
    answer: objectOf('CurrentPrincipal', {
      name: stringOf('Name of the account, or key and its name.'),
      credential: stringOf('What the request was authenticated by: password, session, key, token or socket.'),
      session: orNull({ ...session, description: 'The session that it belongs to; null without one.' }),
      second_factor: flagOf('Whether the account has a second factor.'),
      administrator: flagOf('Whether it may do everything.'),
      permissions: listOf(anyObject('A permission, as of a key.'), 'What it may do; empty for who may do everything.'),
      dataset: stringOf('The dataset that its changes are confined to; empty for none.'),
    }),
    isOpen: true,
    run({ sessions: book, secondFactors, context: { actor, credential, access } }) {
      const rights = access?.rights;
      return {
        name: actor,
        credential: credential?.kind ?? 'password',
        session: credential?.kind === 'session' ? (book.list().find(({ id }) => id === credential.id) ?? null) : null,
        second_factor: secondFactors.has(actor),
        administrator: access === undefined,
        permissions: rights?.permissions ?? [],
        dataset: rights?.dataset ?? '',
      };
    },
  }),
  operation({
    method: 'DELETE',
    path: 'sessions/current',
    name: 'logOut',
    alone: 'Sessions are no part of the configuration.',
    title: 'Ends the session of this request, and removes its cookie.',
    status: 204,
    answer: 'nothing',
    isOpen: true,
    awaitsStart: false,
    async run({ sessions: book, operations, context: { credential, connection } }) {
      await operations.perform(
        own('end this session', async () => {
          if (credential?.kind === 'session') book.end(credential.id ?? '');
        }),
      );
      return new Headed(undefined, { 'set-cookie': book.noCookie(connection?.isSecure === true) });
    },
  }),
  operation({
    method: 'DELETE',
    path: 'sessions/{id}',
    name: 'endSession',
    alone: 'Sessions are no part of the configuration.',
    title: 'Ends a session.',
    params,
    status: 204,
    answer: 'nothing',
    isOpen: true,
    awaitsStart: false,
    async run(call) {
      const { id } = call.params;
      if (!visible(call).some((one) => one.id === id))
        throw missing(`There is no open session ${id} that you may end.`);
      await call.operations.perform(own(`end the session ${id}`, async () => call.sessions.end(id)));
    },
  }),
]);

/** Not an operation of its own: who may send every request about sessions manages those of others. */
const manageSessions: Act = Object.freeze({
  ...{ resource: 'holdfast/sessions', declared: 'holdfast/sessions', record: undefined, verb: 'manage', reads: false },
  ...{ fields: undefined, before: undefined },
});

function visible({ sessions: book, context }: Pick<OperationCall, 'sessions' | 'context'>): readonly SessionInfo[] {
  return book.list().filter(({ account }) => account === context.actor || mayManage(context));
}

function mayManage({ access }: RequestContext): boolean {
  return access === undefined || access.problem(manageSessions) === undefined;
}
