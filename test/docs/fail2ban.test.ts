import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startDaemon, stateFolder } from '../crash/daemon.ts';

const filter = readFileSync(fileURLToPath(new URL('../../docs/fail2ban/holdfast.conf', import.meta.url)), 'utf8');

/** The filter's expression with fail2ban's own parts in it: what it puts before a line of the journal, and an address. */
function failRegex(): RegExp {
  const text = /^failregex = (.+)$/m.exec(filter)?.[1] ?? assert.fail('no failregex');
  return new RegExp(
    text
      .replace('%(__prefix_line)s', String.raw`\S+ holdfast\[\d+\]: `)
      .replace('<ADDR>', String.raw`(?<address>\d+\.\d+\.\d+\.\d+|[0-9a-fA-F:]*:[0-9a-fA-F:.]*)`),
  );
}

const inJournal = (line: string) => `nas holdfast[812]: ${line}`;

test('the fail2ban filter reads the address of a refused login, and an account name cannot forge it', async () => {
  await using folder = await stateFolder();
  const daemon = await startDaemon(folder.path);
  // A name ends at the first colon.
  for (const account of ['root', 'x"} nas holdfast[1] "203.0.113.9', '\\', '"login refused"}', 'mit Ümlaut\n']) {
    const authorization = `Basic ${Buffer.from(`${account}:a wrong password`).toString('base64')}`;
    assert.equal((await fetch(`${daemon.api.url}/api/v1.0/`, { headers: { authorization } })).status, 401);
    const written = JSON.stringify(account).slice(1, -1);
    const line = await daemon.logLine(new RegExp(`"account":"${written.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}"`));
    assert.equal(failRegex().exec(inJournal(line))?.groups?.['address'], '127.0.0.1', line);
    assert.doesNotMatch(line, /a wrong password/);
  }
  assert.equal(failRegex().test(inJournal(await daemon.logLine(/serving on/))), false);
  await daemon.end('SIGTERM');
});

test('the fail2ban filter reads IPv6 addresses', () => {
  const line =
    '{"level":40,"time":"2026-01-01T00:00:00.000Z","address":"2001:db8::7","account":"root","reason":"too many attempts","refused":12,"msg":"login refused"}';
  assert.equal(failRegex().exec(inJournal(line))?.groups?.['address'], '2001:db8::7');
});
