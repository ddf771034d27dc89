import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { proftpdTest } from '../../../src/host/virtual/proftpd.ts';
import { testparm } from '../../../src/host/virtual/testparm.ts';

function smb(text: string, others: Readonly<Record<string, string>> = {}) {
  return testparm('/x/smb.conf', (path) => (path === '/x/smb.conf' ? text : others[path]));
}

function ftp(text: string, others: Readonly<Record<string, string>> = {}) {
  const files: Readonly<Record<string, string>> = { ...others, '/x/ftp.conf': text };
  return proftpdTest('/x/ftp.conf', {
    read: (path) => files[path],
    matching: (pattern) => Object.keys(others).filter((path) => path.startsWith(pattern.replace('*', ''))),
  });
}

// The expected output is that of testparm of Samba 4.22.11 for the same file.
describe('the model of testparm', () => {
  test('accepts comments, garbage and known parameters in any spelling', () => {
    const { status, stderr } = smb(
      '; a\n# b\n[global]\ngarbage\nLOADPRINTERS = No\n[homes]\nbrowseable = no\nrecycle:anything = x\n',
    );
    assert.equal(status, 0);
    assert.doesNotMatch(stderr, /Unknown|WARNING/);
  });

  test('reports each unknown parameter in two lines', () => {
    const { status, stderr } = smb('[global]\nfoo bar = 3\n');
    assert.equal(status, 0);
    assert.ok(
      stderr.startsWith(
        'Load smb config files from /x/smb.conf\nUnknown parameter encountered: "foo bar"\nIgnoring unknown parameter "foo bar"\nLoaded services file OK.\n',
      ),
    );
  });

  test('stops at a value of the wrong type', () => {
    for (const [line, words] of [
      ['load printers = maybe', 'set_variable_helper(maybe): value is not boolean!'],
      ['max log size = much', 'set_variable_helper(much): value is not a valid size specifier!'],
      ['create mask = rwx', 'Invalid octal number create mask'],
      ['map to guest = Sometimes', "WARNING: Ignoring invalid value 'Sometimes' for parameter 'map to guest'"],
    ] as const) {
      assert.deepEqual(smb(`[global]\n${line}\nfoo = 1\n`), {
        status: 1,
        stdout: '',
        stderr: `Load smb config files from /x/smb.conf\n${words}\nError loading services.\n`,
      });
    }
  });

  test('stops at a section without a closing bracket, and at a missing file', () => {
    assert.equal(smb('[media\npath = /x\n').status, 1);
    assert.equal(smb('[global]\n = x\n').status, 1);
    assert.equal(testparm('/none', () => undefined).status, 1);
  });

  test('warns of a share without a path and of a global parameter in a share', () => {
    const { status, stderr } = smb('[media]\nworkgroup = X\n');
    assert.equal(status, 0);
    assert.match(stderr, /Global parameter workgroup found in service section!/);
    assert.match(
      stderr,
      /WARNING: No path in service media - making it unavailable!\nNOTE: Service media is flagged unavailable\./,
    );
  });

  test('reads included files, and ignores missing ones', () => {
    assert.match(
      smb('[global]\ninclude = /x/more\n', { '/x/more': 'foo = 1\n' }).stderr,
      /Unknown parameter encountered: "foo"/,
    );
    assert.equal(smb('[global]\ninclude = /x/none\n').status, 0);
  });
});

// The expected output is that of ProFTPD 1.3.8c for the same file.
describe('the model of proftpd -t', () => {
  for (const [description, text, fatal] of [
    ['an unknown directive', 'Port 21\nFoo bar\n', "unknown configuration directive 'Foo' on line 2 of '/x/ftp.conf'"],
    [
      'an unknown section',
      '<Bogus /srv>\n</Bogus>\n',
      "unknown configuration directive '<Bogus>' on line 1 of '/x/ftp.conf'",
    ],
    [
      'an unclosed section',
      '<Global>\nUmask 022\n',
      "error processing configuration file '/x/ftp.conf': unclosed configuration section",
    ],
    [
      'an end without a beginning',
      '</Global>\n',
      "</Global>: directive not allowed in server config context on line 1 of '/x/ftp.conf'",
    ],
    [
      'another section’s end',
      '<Anonymous /srv>\nUser ftp\n</Global>\n',
      "</Global>: directive not allowed in <Anonymous> context on line 3 of '/x/ftp.conf'",
    ],
    ['a directive without its parameters', 'Umask\n', "Umask: missing parameters on line 1 of '/x/ftp.conf'"],
    [
      'a switch that is neither on nor off',
      'UseReverseDNS maybe\n',
      "UseReverseDNS: expected Boolean parameter on line 1 of '/x/ftp.conf'",
    ],
    [
      'a module that there is not',
      'LoadModule mod_nix.c\n',
      "LoadModule: error loading module 'mod_nix.c': No such file or directory on line 1 of '/x/ftp.conf'",
    ],
    [
      'a directive whose module is not loaded',
      'TLSEngine on\n',
      "unknown configuration directive 'TLSEngine' on line 1 of '/x/ftp.conf'",
    ],
  ] as const) {
    test(`refuses ${description}`, () => {
      const { status, stderr } = ftp(text);
      assert.equal(status, 1);
      assert.ok(stderr.endsWith(`fatal: ${fatal}\n`), stderr);
    });
  }

  test('accepts sections, conditions, continued lines and modules', () => {
    const text =
      'LoadModule mod_tls.c\n<IfModule mod_tls.c>\nTLSEngine on\n</IfModule>\n<IfModule !mod_tls.c>\n<Global>\nNonsense\n</IfModule>\nUseReverseDNS \\\n  off\n<Limit LOGIN>\nDenyAll\n</Limit>\n';
    assert.deepEqual(ftp(text), { status: 0, stdout: 'Checking syntax of configuration file\n', stderr: '' });
  });

  test('reads included files and warns of missing ones', () => {
    const included = ftp('Include /y/*\n', { '/y/a': 'Port 21\nFoo\n' });
    assert.equal(included.status, 0, 'what is wrong there does not count');
    assert.match(included.stderr, /fatal: unknown configuration directive 'Foo' on line 2 of '\/y\/a'\n/);
    const { status, stderr } = ftp('Include /y/none\n');
    assert.equal(status, 0);
    assert.match(stderr, /warning: unable to include '\/y\/none': No such file or directory/);
  });
});
