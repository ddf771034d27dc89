import type { RequestContext } from '../../engine/change/request.ts';
import { invalid, missing, refused } from '../../engine/declare/errors.ts';
import { integer, required, text } from '../../engine/declare/fields.ts';
import { type OperationCall, operation, section } from '../../engine/declare/operation.ts';
import { isSentOf } from '../../engine/declare/record.ts';
import type { View } from '../../engine/declare/resource.ts';
import { flagOf, integerOf, listOf, objectOf, stringOf } from '../../engine/declare/schema.ts';
import { own } from '../../engine/plan/steps.ts';
import { quote } from '../../lib/text.ts';
import { type Person, person } from '../account/person.ts';
import { user } from '../account/users.ts';
import { type SecondFactor, secondFactor } from '../people/second-factor.ts';
import { rightsFields } from '../rights/rights.ts';
import {
  checkGrant,
  checkRights,
  disabledAfter,
  optionals,
  originOf,
  rightsMembers,
  sentOf,
  shownEnd,
} from './rights.ts';

const answer = objectOf('Person', {
  id: integerOf('Id of the entry.'),
  account: stringOf('Name of the account.'),
  in_directory: flagOf('Whether it is an account of a directory, which checks its password.'),
  second_factor: flagOf('Whether it has a second factor.'),
  ...rightsMembers,
});

const code = required(text({ description: 'A code of the authenticator program.', max: 64 }));

const params = { id: integer({ description: 'Id of the entry.', min: 1 }) };

export const people = section('people', 'Accounts that use the interface with their own password.', [
  operation({
    method: 'GET',
    path: 'people',
    name: 'listPeople',
    title: 'Lists the accounts that may use the interface, in addition to root.',
    answer: listOf(answer),
    list: { key: ['id'] },
    run: (call) => call.operations.world.view.all(person).map((one) => shown(one, call)),
  }),
  operation({
    method: 'POST',
    path: 'people',
    name: 'createPerson',
    title: 'Gives an account rights, so that it may use the interface with its own password.',
    body: { account: required(text({ description: 'Name of the account.', max: 64 })), ...rightsFields },
    status: 201,
    answer,
    example: { body: { account: 'user0', role: 'operator' } },
    async run(call) {
      const { operations, body, context } = call;
      const { account, ...rights } = body;
      const uid = await operations.ask('look for the account in directories', ({ accounts }) =>
        accounts.inDirectory(account),
      );
      const id = await operations.onlyChange(`give the account ${account} rights`, (draft) => {
        const of = draft.find(user, 'bsdusr_username', account);
        if (of === undefined && uid === undefined)
          throw invalid({
            account: [
              `Expected the name of an account in account/users or in a directory that the machine uses, got ${quote(account)}.`,
            ],
          });
        if ((of?.bsdusr_uid ?? uid) === 0)
          throw invalid({ account: ['root may do everything already, and cannot be given fewer rights.'] });
        const whose = of === undefined ? { directory: account } : {};
        const made = draft.create(
          person,
          { user: of?.id ?? null, ...rights },
          { ...originOf(call, rights.enabled), ...whose },
        );
        checkRights(made, context.access);
        return made.id;
      });
      return shown(found(call, id), call);
    },
  }),
  operation({
    method: 'GET',
    path: 'people/{id}',
    name: 'getPerson',
    title: 'Reads the rights of an account.',
    params,
    answer,
    run: (call) => shown(found(call, call.params.id), call),
  }),
  operation({
    method: 'PUT',
    path: 'people/{id}',
    name: 'updatePerson',
    title: 'Changes the rights of an account, or disables them. What is not sent stays.',
    params,
    body: optionals(rightsFields),
    answer,
    example: { body: { enabled: false } },
    async run(call) {
      const { operations, body, context } = call;
      const before = found(call, call.params.id);
      checkGrant(before, context.access);
      const sent = sentOf(body);
      if (!isSentOf(person.fields, sent)) throw new TypeError('a value of the request belongs to no field');
      await operations.onlyChange(`change the rights of the account ${nameOf(before, call)}`, (draft) => {
        const disabled = disabledAfter(before, sent.enabled, call);
        checkRights(draft.update(person, before.id, sent, { disabled }), context.access);
      });
      return shown(found(call, before.id), call);
    },
  }),
  operation({
    method: 'DELETE',
    path: 'people/{id}',
    name: 'removePerson',
    title: 'Takes the rights from an account, which stays.',
    params,
    status: 204,
    answer: 'nothing',
    async run(call) {
      const { operations, context } = call;
      const before = found(call, call.params.id);
      checkGrant(before, context.access);
      await operations.onlyChange(`take the rights from the account ${nameOf(before, call)}`, (draft) =>
        draft.remove(person, before.id),
      );
    },
  }),
  operation({
    method: 'POST',
    path: 'people/current/factor',
    name: 'beginSecondFactor',
    alone: 'Its answer is needed for the request that confirms the factor, within ten minutes.',
    title: 'Makes a secret for an authenticator program. It applies once a code confirms it, within ten minutes.',
    status: 201,
    answer: objectOf('NewSecondFactor', {
      secret: stringOf('The secret, in base32.'),
      url: stringOf('The same as otpauth URL.'),
      qr: stringOf('The URL as a QR code: an SVG image, which the authenticator program reads from the screen.'),
    }),
    isOpen: true,
    run({ secondFactors, operations, context }) {
      const name = personIn(context);
      return operations.perform(
        own(`make a secret for the second factor of ${name}`, async () => secondFactors.begin(name)),
      );
    },
  }),
  operation({
    method: 'PUT',
    path: 'people/current/factor',
    name: 'confirmSecondFactor',
    alone: 'A code is used up even if other requests are refused.',
    title: 'Sets up the second factor. The answer shows recovery codes, which cannot be shown again.',
    body: { code },
    answer: objectOf('RecoveryCodes', {
      recovery_codes: listOf(stringOf('One code.'), 'Codes that are each accepted once instead of the program.'),
    }),
    example: { body: { code: '123456' } },
    isOpen: true,
    async run({ secondFactors, operations, body, context }) {
      const name = personIn(context);
      const factor = secondFactors.confirmed(name, body.code);
      await operations.onlyChange(`set up the second factor of ${name}`, (draft) => {
        draft.create(secondFactor, { user: factor.user }, factor.secrets);
      });
      await operations.perform(own('finish the set-up', async () => factor.settle()));
      return { recovery_codes: factor.recoveryCodes };
    },
  }),
  operation({
    method: 'POST',
    path: 'people/current/factor/remove',
    name: 'removeSecondFactor',
    alone: 'A code is used up even if other requests are refused.',
    title: 'Removes the own second factor, with one of its codes or a recovery code.',
    body: { code },
    status: 204,
    answer: 'nothing',
    example: { body: { code: '123456' } },
    isOpen: true,
    async run({ secondFactors, operations, body, context }) {
      const name = personIn(context);
      const factor = factorOf(operations.world.view, secondFactors.accountOf(name), name);
      // A dry run does not use up the code, and so does not know.
      const isRight = await operations.perform(
        own('check the code', () => secondFactors.accepts(factor.user, body.code)),
      );
      if (isRight === false)
        throw refused('This code of the second factor is wrong or was used, or too many were wrong.');
      await operations.onlyChange(`remove the second factor of ${name}`, (draft) =>
        draft.remove(secondFactor, factor.id),
      );
    },
  }),
  operation({
    method: 'DELETE',
    path: 'people/{id}/factor',
    name: 'removeFactorOf',
    title: 'Removes the second factor of an account whose owner has lost it.',
    params,
    status: 204,
    answer: 'nothing',
    async run(call) {
      const { operations, context } = call;
      const of = found(call, call.params.id);
      checkGrant(of, context.access);
      const name = nameOf(of, call);
      const { id } = factorOf(operations.world.view, of.user ?? 0, name);
      await operations.onlyChange(`remove the second factor of ${name}`, (draft) => draft.remove(secondFactor, id));
    },
  }),
]);

/** The account of a request. Keys have no second factor. */
function personIn({ actor, credential }: RequestContext): string {
  if (credential?.kind === 'key' || credential?.kind === 'token')
    throw refused('Only accounts have a second factor; keys need none.');
  return actor;
}

function factorOf(view: View, account: number, name: string): SecondFactor {
  const factor = view.find(secondFactor, 'user', account);
  if (factor === undefined) throw refused(`The account ${name} has no second factor.`);
  return factor;
}

type Call = Pick<OperationCall, 'operations' | 'context'>;

function found({ operations }: Call, id: number): Person {
  const one = operations.world.view.get(person, id);
  if (one === undefined) throw missing(`There is no entry ${id}; GET /api/holdfast/v1/people lists them.`);
  return one;
}

function nameOf({ user: id, directory }: Person, { operations }: Call): string {
  return id === null ? directory : (operations.world.view.get(user, id)?.bsdusr_username ?? '');
}

const hasFactor = ({ user: id }: Person, { operations }: Call) =>
  operations.world.view.find(secondFactor, 'user', id) !== undefined;

function shown(one: Person, call: Call) {
  const { user: _, directory, expires, ...rest } = one;
  return {
    ...rest,
    account: nameOf(one, call),
    in_directory: directory !== '',
    second_factor: hasFactor(one, call),
    expires: shownEnd(expires),
  };
}
