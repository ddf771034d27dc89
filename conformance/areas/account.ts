import { ask, askRecord, ensure } from '../expect.ts';
import { each, flag, integer, object, text } from '../kinds.ts';
import { type Area, type Body, collection, story } from '../resource.ts';
import type { World } from '../world.ts';

const user = {
  ...each(
    text,
    'bsdusr_username',
    'bsdusr_full_name',
    'bsdusr_home',
    'bsdusr_shell',
    'bsdusr_email',
    'bsdusr_sshpubkey',
    'bsdusr_unixhash',
    'bsdusr_smbhash',
  ),
  ...each(integer, 'bsdusr_uid', 'bsdusr_group'),
  ...each(flag, 'bsdusr_password_disabled', 'bsdusr_locked', 'bsdusr_sudo', 'bsdusr_builtin'),
  bsdusr_attributes: object,
};

function newUser(world: World): Body {
  const n = world.next();
  return {
    bsdusr_username: `person${n}`,
    bsdusr_full_name: 'A Person',
    bsdusr_password: 'abcd1234',
    bsdusr_uid: 51_000 + n,
    bsdusr_creategroup: true,
    bsdusr_mode: '755',
    bsdusr_shell: '/bin/csh',
    bsdusr_password_disabled: false,
    bsdusr_locked: false,
    bsdusr_sudo: false,
  };
}

const users = collection('account/users', {
  record: user,
  create: newUser,
  change: () => ({ bsdusr_full_name: 'Another Person', bsdusr_sudo: true }),
});

const groups = collection('account/groups', {
  record: { bsdgrp_gid: integer, bsdgrp_group: text, ...each(flag, 'bsdgrp_sudo', 'bsdgrp_builtin') },
  create: (world) => ({ bsdgrp_gid: 52_000 + world.next(), bsdgrp_group: world.name('people'), bsdgrp_sudo: false }),
  change: (world) => ({ bsdgrp_group: world.name('people'), bsdgrp_sudo: true }),
});

const membership = story('account/users', async (step, world) => {
  const person = await step(
    'is made for its actions',
    async () =>
      `account/users/${String((await askRecord(world, 201, 'POST', 'account/users/', user, newUser(world)))['id'])}`,
  );
  if (person === undefined) return;
  await step('password answers the user', () =>
    askRecord(world, 200, 'POST', `${person}/password/`, user, { bsdusr_password: 'other1234' }),
  );
  const names = async (status: number, method: string, body?: readonly string[]) => {
    const { json } = await ask(world, status, method, `${person}/groups/`, body);
    ensure(
      Array.isArray(json) && json.every((one) => typeof one === 'string'),
      `${method} groups does not answer names`,
    );
    return json.toSorted().join(' ');
  };
  await step('groups are none at first', async () => ensure((await names(200, 'GET')) === '', 'there are some'));
  await step('groups are replaced', async () =>
    ensure((await names(202, 'POST', ['wheel', 'ftp'])) === 'ftp wheel', 'they are others than were sent'),
  );
  await step('groups are answered', async () =>
    ensure((await names(200, 'GET')) === 'ftp wheel', 'they are others than were sent'),
  );
  await step('is removed after its actions', () => ask(world, 204, 'DELETE', `${person}/`));
});

export const accountArea: Area = { name: 'account', resources: [groups, users, membership] };
