import assert from 'node:assert/strict';
import { test } from 'node:test';
import { daemonsOf, switchNames } from '../../../src/areas/services/daemons.ts';
import { switchSubsystem } from '../../../src/subsystems/services/subsystem.ts';
import { freshConfiguration, machine, switchOn } from '../support/configuration.ts';

const programs: readonly string[] = switchSubsystem.services ?? [];

test('a switch runs its daemons and no others', () => {
  for (const service of switchNames.filter((name) => daemonsOf[name].some((program) => programs.includes(program)))) {
    const draft = freshConfiguration();
    switchOn(draft, service);
    const running = switchSubsystem.render(draft, machine).services?.filter((one) => one.running);
    assert.deepEqual(
      running?.map(({ name }) => name),
      [...daemonsOf[service]],
    );
  }
});

test('services with a subsystem of their own are not switched here', () => {
  const names = switchSubsystem.render(freshConfiguration(), machine).services?.map(({ name }) => name);
  for (const name of [
    ...daemonsOf.afp,
    ...daemonsOf.cifs,
    ...daemonsOf.ftp,
    ...daemonsOf.nfs,
    ...daemonsOf.ssh,
    ...daemonsOf.ups,
  ])
    assert.equal(names?.includes(name), false);
});
