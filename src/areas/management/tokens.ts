import { operation, section } from '../../engine/declare/operation.ts';
import { objectOf, stringOf, timeOf } from '../../engine/declare/schema.ts';
import { own } from '../../engine/plan/steps.ts';

export const tokens = section('tokens', 'Tokens with which another Holdfast can pair with this one for replication.', [
  operation({
    method: 'POST',
    path: 'tokens',
    name: 'createToken',
    alone: 'The token is no part of the configuration.',
    title: 'Issues a token for repl_remote_token of another machine. It is accepted once.',
    status: 201,
    answer: objectOf('PairingToken', {
      token: stringOf('The token.'),
      until: timeOf('When it expires.'),
    }),
    run: ({ issueToken, operations }) => operations.perform(own('issue a token for pairing', async () => issueToken())),
  }),
]);
