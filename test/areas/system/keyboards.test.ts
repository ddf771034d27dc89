import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyboardOf, keyboardProblem } from '../../../src/areas/system/keyboards.ts';
import { systemSettings } from '../../../src/areas/system/settings.ts';
import { keyboardDefaults } from '../../../src/subsystems/logs/subsystem.ts';

test('a layout is found by the name of XKB, and by that of the keymap index of FreeBSD', () => {
  for (const [name, layout, variant] of [
    ['de', 'de', ''],
    ['de.nodeadkeys', 'de', 'nodeadkeys'],
    ['de.noacc.kbd', 'de', 'nodeadkeys'],
    ['uk', 'gb', ''],
    ['uk.macbook', 'gb', 'mac'],
    ['us.dvorakl', 'us', 'dvorak-l'],
    ['fr.acc', 'fr', ''],
    ['ch-fr', 'ch', 'fr'],
    ['latinamerican.kbd', 'latam', ''],
    ['ie.UnicodeExpert', 'ie', 'UnicodeExpert'],
  ] as const) {
    assert.deepEqual(keyboardOf(name), { layout, variant }, name);
    assert.equal(keyboardProblem(name), undefined, name);
    assert.match(keyboardDefaults(name), new RegExp(`^XKBLAYOUT="${layout}"\nXKBVARIANT="${variant}"$`, 'm'));
  }
  assert.match(keyboardDefaults(''), /^XKBLAYOUT="us"\nXKBVARIANT=""$/m);
});

test('a keyboard or a language that does not exist is refused, with what there is', () => {
  const { stg_kbdmap: keyboard, stg_language: language } = systemSettings.fields;
  for (const [field, value, message] of [
    [keyboard, 'xy', /Expected a keyboard layout \(.*de, dk.*\), got "xy"/],
    [
      keyboard,
      'de.none',
      /Expected de alone or with one of its variants after a dot \(.*nodeadkeys.*\), got "de.none"/,
    ],
    [keyboard, 'mv.none', /The keyboard layout mv has no variants/],
    [keyboard, 'de"X', /Expected/],
    [language, 'xx', /Expected the code of a language, as en or pt-br, got "xx"/],
    [language, 'xx-br', /Expected the code/],
    [language, 'English', /Expected the code/],
  ] as const) {
    const reading = field.read(value);
    assert.ok(!reading.ok, value);
    assert.match(reading.wrong, message);
  }
  for (const code of ['en', 'pt-br', 'pt_BR', 'zh-hans', 'sr-latn', 'ast', 'kab', ''])
    assert.deepEqual(language.read(code), { ok: true, value: code });
});
