import assert from 'node:assert/strict';
import { test } from 'node:test';
import { services } from '../../src/areas/services/index.ts';
import type { Service } from '../../src/areas/services/service.ts';
import { serviceSwitch } from '../../src/areas/services/services.ts';
import type { Fields } from '../../src/engine/declare/fields.ts';
import { programs, subsystems } from '../../src/subsystems/index.ts';
import { freshConfiguration, machine, messagesOf, switchOn } from '../subsystems/support/configuration.ts';

/** A service is one value: what else has to know it either follows from that value, or is found wanting here. */

const unitsOf = ({ programs: own, alternatives }: Service) => [...own, ...alternatives];
const withPrograms = services.filter((service) => service.programs.length > 0);
const subsystemOf = (unit: string) => subsystems.filter((subsystem) => subsystem.services?.includes(unit));

test('every program of a service is controlled by one subsystem, which reads the switch and the settings', () => {
  for (const service of withPrograms)
    for (const unit of unitsOf(service)) {
      const [subsystem, ...others] = subsystemOf(unit);
      assert.ok(subsystem !== undefined && others.length === 0, `${service.name}: ${unit}`);
      const reads = subsystem.reads.map(({ path }) => path);
      for (const path of [serviceSwitch.path, ...(service.settings === undefined ? [] : [service.settings.path])])
        assert.ok(reads.includes(path), `${subsystem.name} does not read ${path}`);
    }
});

test('a service that is switched on runs, or the subsystem reports why not; one that is switched off does not', () => {
  for (const service of withPrograms) {
    const running = (isOn: boolean) => {
      const draft = freshConfiguration();
      if (isOn) switchOn(draft, service.name);
      const [subsystem] = subsystemOf(service.programs[0] ?? '');
      const desired = subsystem?.render(draft, machine);
      const units = desired?.services?.filter((unit) => unit.running && unitsOf(service).includes(unit.name)) ?? [];
      return { units, reasons: subsystem === undefined ? [] : messagesOf(subsystem, draft) };
    };
    assert.deepEqual(running(false).units, [], service.name);
    const { units, reasons } = running(true);
    assert.ok(units.length > 0 || reasons.length > 0, service.name);
  }
});

test('a machine with all of the programs has those of every service, and no two for the same service', () => {
  for (const { name, programs: own, alternatives } of withPrograms) {
    for (const unit of own.filter((one) => !one.startsWith('holdfast-'))) assert.ok(programs.includes(unit), name);
    for (const unit of alternatives) assert.ok(!programs.includes(unit), name);
  }
});

test('every port that the settings of a service have is one that it listens on', () => {
  for (const { name, settings, listens } of services) {
    if (settings === undefined) continue;
    const listened = new Set<string | undefined>();
    // Which of them are used can depend on a choice.
    for (const choice of [{}, ...choicesOf(settings.fields)]) {
      const draft = freshConfiguration();
      draft.update(settings, 1, choice);
      for (const { field } of listens(draft)) listened.add(field);
    }
    for (const [field, { schema, initial }] of Object.entries(settings.fields))
      if (schema['minimum'] === 1 && schema['maximum'] === 65_535 && typeof initial === 'number')
        assert.ok(listened.has(field), `${name}: ${field}`);
  }
});

function choicesOf(fields: Fields): readonly Readonly<Record<string, unknown>>[] {
  return Object.entries(fields).flatMap(([name, { schema }]) =>
    Array.isArray(schema['enum']) ? schema['enum'].map((value: unknown) => ({ [name]: value })) : [],
  );
}
