import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { View } from '../../src/engine/declare/resource.ts';
import { isKeptResource } from '../../src/engine/engine.ts';
import type { Facts } from '../../src/engine/facts/facts.ts';
import { subsystems } from '../../src/subsystems/index.ts';
import { addressed, trials } from '../support/catalogue.ts';
import { furnished } from '../support/furnished.ts';

/** The same view, which notes what it is asked for. */
function noting(view: View, paths: Set<string>): View {
  return {
    all: (of) => view.all(note(of)),
    groups: (of) => view.groups(note(of)),
    get: (of, id) => view.get(note(of), id),
    find: (of, name, value) => view.find(note(of), name, value),
    having: (of, name, value) => view.having(note(of), name, value),
    keyed: (of, key) => view.keyed(note(of), key),
    only: (of) => view.only(note(of)),
    occupants: () => assert.fail('a subsystem names the resources that it reads'),
  };
  function note<T extends { readonly path: string }>(of: T): T {
    paths.add(of.path);
    return of;
  }
}

function notingFacts(facts: Facts, topics: Set<string>): Facts {
  return new Proxy(facts, {
    get(target, key) {
      if (typeof key === 'string' && key !== 'host') topics.add(key);
      const value: unknown = Reflect.get(target, key);
      return value;
    },
  });
}

test('every unit names the resources that it reads and the facts that it renders from', async () => {
  await using world = await furnished();
  await world.api.expect(200, 'PUT', 'services/ftp/', { ftp_onlyanonymous: true, ftp_anonpath: '/mnt/tank' });
  for (const subsystem of subsystems) {
    const [paths, topics] = [new Set<string>(), new Set<string>()];
    const { view, facts } = world.engine.world;
    subsystem.render(noting(view, paths), notingFacts(facts, topics));
    assert.deepEqual(
      [...paths].filter((path) => !subsystem.reads.some((resource) => resource.path === path)),
      [],
      `${subsystem.name} reads what it does not name`,
    );
    assert.deepEqual(
      [...topics].filter((topic) => !(subsystem.uses ?? []).some((one) => one === topic)),
      [],
      `${subsystem.name} uses facts that it does not name`,
    );
  }
});

test('a unit renders the same again, and the same after a change of a resource that it does not read', async () => {
  await using world = await furnished();
  for (const trial of trials(world.maker).filter(
    ({ resource }) => isKeptResource(resource) && addressed.includes(resource),
  )) {
    const { method, path, body } = await trial.prepare();
    const before = subsystems.map((subsystem) => subsystem.render(world.engine.world.view, world.engine.world.facts));
    const records = new Map(
      subsystems.flatMap(({ reads }) => reads).map((resource) => [resource, [...world.engine.table(resource).all()]]),
    );
    const facts = world.engine.world.facts;
    await world.api.send(method, path, body);
    for (const [index, subsystem] of subsystems.entries()) {
      const same = subsystem.reads.every((resource) => {
        const [old, now] = [records.get(resource), world.engine.table(resource).all()];
        return old?.length === now.length && old.every((record, place) => record === now[place]);
      });
      // The facts of before: what else the change did to the machine is not the question.
      if (same)
        assert.deepEqual(
          subsystem.render(world.engine.world.view, facts),
          before[index],
          `${trial.title} changed what ${subsystem.name} renders`,
        );
    }
  }
});
