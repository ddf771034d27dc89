import assert from 'node:assert/strict';
import { test } from 'node:test';
import { daemonsOf } from '../../../src/areas/services/daemons.ts';
import { switchUnit } from '../../../src/units/services/unit.ts';
import { freshConfiguration, machine, switchOn } from '../support/configuration.ts';

test('a switch runs the programs behind it, and those alone', () => {
  const draft = freshConfiguration();
  switchOn(draft, 'netdata');
  const running = switchUnit.render(draft, machine).services?.filter((service) => service.running);
  assert.deepEqual(
    running?.map(({ name }) => name),
    [...daemonsOf.netdata],
  );
});

test('programs that a unit of their own serves are left to it', () => {
  const names = switchUnit.render(freshConfiguration(), machine).services?.map(({ name }) => name);
  for (const name of [...daemonsOf.afp, ...daemonsOf.cifs, ...daemonsOf.ftp, ...daemonsOf.nfs]) assert.equal(names?.includes(name), false);
});
