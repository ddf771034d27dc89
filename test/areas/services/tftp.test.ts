import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tftpSettings } from '../../../src/areas/services/tftp.ts';

test('each word of tftp_options is an option or the value of one: another would name a folder to serve', () => {
  const { tftp_options: options } = tftpSettings.fields;
  for (const good of ['', '-4 -v', '--timeout 5 --retransmit=1000', '--map-file=/etc/map --port-range 4096:4100'])
    assert.equal(options.read(good).ok, true, good);
  for (const [bad, problem] of [
    ['/etc', /got "\/etc"/],
    ['-v /etc', /got "\/etc"/],
    ['--timeout 5 /etc', /got "\/etc"/],
    ['--timeout=5 /etc', /got "\/etc"/],
    ['-4=1', /got "-4=1"/],
    ['--timeout', /value for --timeout/],
    ['--timeout= 5', /value for --timeout/],
    ['--timeout --refuse x', /value for --timeout/],
    ['--', /got "--"/],
  ] as const) {
    const reading = options.read(bad);
    assert.match(reading.ok ? '' : reading.wrong, problem, bad);
  }
});
