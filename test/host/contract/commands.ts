import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Host } from '../../../src/host/ports/index.ts';
import { finallyOf, type HostUnderTest } from '../../support/hosts.ts';
import { refused } from './support.ts';

/** The output of a checker for a text. */
async function verdict(
  host: Host,
  t: TestContext,
  path: string,
  content: string,
  argv: (staged: string) => readonly string[],
) {
  const staged = await host.files.stage(path, content);
  finallyOf(t, () => host.files.discard(staged));
  return { staged, ...(await host.commands.check(argv(staged))) };
}

const testparm = (staged: string) => ['testparm', '-s', staged];
const proftpd = (staged: string) => ['proftpd', '-t', '-c', staged];
const smb = '/etc/samba/smb.conf';
const ftp = '/etc/proftpd/proftpd.conf';
const ftpStart = 'ServerType standalone\nDefaultAddress 127.0.0.1\n';

export function describeCommands(hosts: readonly HostUnderTest[]): void {
  for (const { title, start } of hosts) {
    describe(`commands on the ${title} host`, () => {
      test('testparm accepts a simple file', async (t) => {
        const answer = await verdict(
          await start(t),
          t,
          smb,
          '[global]\n  workgroup = WORKGROUP\n[media]\n  path = /tmp\n  read only = no\n',
          testparm,
        );
        assert.equal(answer.status, 0);
        assert.doesNotMatch(answer.stderr, /Unknown parameter|ERROR/);
        assert.match(answer.stderr, /Loaded services file OK/);
      });

      test('testparm reports an unknown parameter and continues', async (t) => {
        const answer = await verdict(await start(t), t, smb, '[media]\n  path = /tmp\n  raed only = no\n', testparm);
        assert.equal(answer.status, 0);
        assert.match(answer.stderr, /Unknown parameter encountered: "raed only"/);
      });

      test('testparm refuses a value that is not a boolean', async (t) => {
        const answer = await verdict(
          await start(t),
          t,
          smb,
          '[media]\n  path = /tmp\n  read only = perhaps\n',
          testparm,
        );
        assert.notEqual(answer.status, 0);
        assert.match(answer.stderr, /value is not boolean/);
      });

      test('proftpd accepts a simple file', async (t) => {
        const content = `${ftpStart}# words\nMaxClients 5\n<Global>\n  Umask 022\n</Global>\n<IfModule mod_none.c>\n  Nonsense on\n</IfModule>\n`;
        assert.equal((await verdict(await start(t), t, ftp, content, proftpd)).status, 0);
      });

      test('proftpd reports an unknown directive with its line', async (t) => {
        const answer = await verdict(await start(t), t, ftp, `${ftpStart}MaxCleints 5\n`, proftpd);
        assert.notEqual(answer.status, 0);
        assert.ok(
          answer.stderr.includes(`unknown configuration directive 'MaxCleints' on line 3 of '${answer.staged}'`),
          answer.stderr,
        );
      });

      test('proftpd accepts a directive of a module only after the module is loaded', async (t) => {
        const host = await start(t);
        assert.notEqual((await verdict(host, t, ftp, `${ftpStart}IdentLookups off\n`, proftpd)).status, 0);
        assert.equal(
          (await verdict(host, t, ftp, `LoadModule mod_ident.c\n${ftpStart}IdentLookups off\n`, proftpd)).status,
          0,
        );
      });

      test('proftpd refuses a section without an end, and an end without a section', async (t) => {
        const host = await start(t);
        assert.match(
          (await verdict(host, t, ftp, `${ftpStart}<Global>\nUmask 022\n`, proftpd)).stderr,
          /unclosed configuration section/,
        );
        assert.notEqual((await verdict(host, t, ftp, `${ftpStart}Umask 022\n</Global>\n`, proftpd)).status, 0);
      });

      test('a command line is run as its user', async (t) => {
        const { commands } = await start(t);
        const answer = await commands.run({
          user: 'root',
          line: 'true',
          signal: new AbortController().signal,
          keep: 1000,
        });
        assert.equal(answer.status, 0);
      });

      test('a program is run as its user, with unchanged arguments', async (t) => {
        const { commands } = await start(t);
        const answer = await commands.runProgram({
          user: 'root',
          argv: ['printf', '%s;', 'a b', '$HOME'],
          signal: new AbortController().signal,
          keep: 1000,
        });
        assert.equal(answer.status, 0);
        assert.match(answer.stdout, /a b.*\$HOME/);
      });

      test('a program whose signal is already aborted ends like a terminated one', async (t) => {
        const { commands } = await start(t);
        const answer = await commands.runProgram({
          user: 'root',
          argv: ['sleep', '60'],
          signal: AbortSignal.abort(),
          keep: 1000,
        });
        assert.equal(answer.status, 143);
      });

      test('an unknown user cannot run commands', async (t) => {
        const { commands } = await start(t);
        const { signal } = new AbortController();
        await refused(commands.run({ user: 'hf-no-such-user', line: 'true', signal, keep: 1000 }), /hf-no-such-user/);
        await refused(
          commands.runProgram({ user: 'hf-no-such-user', argv: ['true'], signal, keep: 1000 }),
          /hf-no-such-user/,
        );
      });
    });
  }
}
