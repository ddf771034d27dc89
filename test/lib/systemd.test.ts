import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unitWord } from '../../src/lib/systemd.ts';

test('a quoted argument reaches the program unchanged', () => {
  assert.equal(unitWord(String.raw`echo "100%" $HOME \n 'x'`), String.raw`"echo \"100%%\" $$HOME \\n 'x'"`);
});
