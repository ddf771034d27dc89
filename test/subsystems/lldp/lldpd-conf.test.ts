import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lldpSettings } from '../../../src/areas/services/lldp.ts';
import { lines } from '../../../src/lib/text.ts';
import { lldpSubsystem } from '../../../src/subsystems/lldp/subsystem.ts';
import { fileOf, freshConfiguration, machine, switchOn } from '../support/configuration.ts';

const conf = '/etc/lldpd.d/holdfast.conf';

test('a fresh system describes its interfaces and sends no location', () => {
  const draft = freshConfiguration();
  switchOn(draft, 'lldp');
  const desired = lldpSubsystem.render(draft, machine);
  assert.equal(fileOf(desired, conf), lines('# Written by Holdfast.', 'configure system interface description'));
  assert.equal(fileOf(desired, '/etc/default/lldpd'), lines('# Written by Holdfast.', 'DAEMON_ARGS="-M 4"'));
  assert.deepEqual(desired.services, [{ name: 'lldpd', running: true, onChange: 'restart' }]);
});

test('a location is sent as an address, with either kind of quotes in it', () => {
  const draft = freshConfiguration();
  const commandFor = (country: string, location: string) => {
    draft.update(lldpSettings, 1, { lldp_intdesc: false, lldp_country: country, lldp_location: location });
    return (fileOf(lldpSubsystem.render(draft, machine), conf) ?? '').split('\n')[1];
  };
  assert.equal(commandFor('de', `Mary's rack`), `configure med location address country DE additional "Mary's rack"`);
  assert.equal(
    commandFor('', 'the "cold" room'),
    `configure med location address country ZZ additional 'the "cold" room'`,
  );
  assert.equal(commandFor('FR', ''), 'configure med location address country FR');
  assert.equal(commandFor('', ''), '');
});

test('a text with both kinds of quotes is refused, because lldpd cannot read it', () => {
  assert.deepEqual(lldpSettings.fields.lldp_location.read(`Mary's "cold" room`), {
    ok: false,
    wrong: 'Expected double quotes or single quotes, not both.',
  });
});

test('a location with a backslash, which lldpd would drop, is refused', () => {
  assert.deepEqual(lldpSettings.fields.lldp_location.read('Hall 2\\Rack 3'), {
    ok: false,
    wrong: 'Expected a text without a backslash: lldpd drops it.',
  });
});
