/**
 * The vocabularies that were copied from other programs (`*.vocabulary.ts`), each compared with the program itself. What the
 * program accepts and a copy lacks would be refused on the virtual host only; what a copy has and the program does not would
 * be accepted there and fail on a real machine.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as afp from '../../src/areas/services/afp.vocabulary.ts';
import { snmpDirectives } from '../../src/areas/services/snmp.vocabulary.ts';
import { knownKeyboards } from '../../src/areas/system/keyboards.vocabulary.ts';
import { proftpdTest } from '../../src/host/virtual/proftpd.ts';
import { builtInDirectives, moduleDirectives, switchDirectives } from '../../src/host/virtual/proftpd.vocabulary.ts';
import {
  booleanParameters,
  deprecatedParameters,
  globalParameters,
  octalParameters,
  parameterChoices,
  plainName,
  shareParameters,
  sizeParameters,
} from '../../src/host/virtual/samba.vocabulary.ts';
import { sshdTest } from '../../src/host/virtual/sshd.ts';
import { numberKeywords, otherKeywords, switchKeywords } from '../../src/host/virtual/sshd.vocabulary.ts';
import { words } from '../../src/lib/text.ts';
import { Machine } from '../support/lab/machine.ts';

let machine: Machine;

before(async () => {
  machine = await Machine.start({ name: 'words', disks: 0, memory: 1024 });
  await machine.run('mkdir -p /run/sshd /tmp/words');
});

after(async () => machine?.[Symbol.asyncDispose]());

/** Writes the files, runs the script for each of them as `$file`, and returns the output for each. */
async function forEachFile(files: readonly string[], script: string): Promise<readonly string[]> {
  const separator = '==== next';
  await machine.run('rm -rf /tmp/words/* && mkdir -p /tmp/words');
  const all = files.map((text, index) => `cat >/tmp/words/${index} <<'END'\n${text}END\n`);
  for (let from = 0; from < all.length; from += 200) await machine.run(all.slice(from, from + 200).join(''));
  const output = await machine.run(
    `cd /tmp/words; for file in $(seq 0 ${files.length - 1}); do echo '${separator}'; ${script}; done </dev/null`,
  );
  return output.split(`${separator}\n`).slice(1);
}

// Samba --------------------------------------------------------------------------------------------------------------

/** The default of each parameter that Samba lists. */
async function sambaDefaults(): Promise<ReadonlyMap<string, string>> {
  const [listed = ''] = await forEachFile(['[global]\n'], 'testparm -s -v --suppress-prompt $file 2>/dev/null');
  return new Map(
    listed
      .split('\n')
      .map((line) => /^\s+([^=]*\S) =\s*(.*)$/.exec(line))
      .map((match) => [plainName(match?.[1] ?? ''), match?.[2] ?? ''] as const)
      .filter(([name]) => name !== '' && !name.includes(':')),
  );
}

/** A value that Samba accepts for a parameter. */
function goodValue(name: string, defaults: ReadonlyMap<string, string>, index: number): string {
  const choices = [...(parameterChoices.get(name) ?? [])];
  if (choices.length > 0) return choices[Math.min(index, choices.length - 1)] ?? '';
  if (booleanParameters.has(name)) return 'no';
  // A backslash at the end, the default of the separator, would continue the line.
  const text = (defaults.get(name) ?? '').replace(/\\$/, '+');
  return sizeParameters.has(name) || octalParameters.has(name) ? '0' : text;
}

/** A line for each parameter that can be set without another file. */
function linesFor(names: Iterable<string>, defaults: ReadonlyMap<string, string>, index = 0): readonly string[] {
  return [...names]
    .filter((name) => !/^(include|copy|configbackend)$/.test(name))
    .map((name) => `${name} = ${goodValue(name, defaults, index)}\n`);
}

test('Samba lists the parameters of the copy, and their defaults are values that the copy has', async () => {
  const defaults = await sambaDefaults();
  assert.ok(defaults.size > 400, `testparm listed ${defaults.size}`);
  const lacking = [...defaults.keys()].filter((name) => !globalParameters.has(name) && !shareParameters.has(name));
  assert.deepEqual(lacking, []);
  const otherKind = [...defaults].filter(
    ([name, value]) => /^(Yes|No)$/.test(value) !== booleanParameters.has(name) && !parameterChoices.has(name),
  );
  assert.deepEqual(otherKind, []);
  const otherValue = [...defaults].filter(
    ([name, value]) => value !== '' && parameterChoices.get(name)?.has(value.toLowerCase()) === false,
  );
  assert.deepEqual(otherValue, []);
});

test('Samba knows every parameter and value of the copy, in the same section, and the same are deprecated', async () => {
  const defaults = await sambaDefaults();
  const most = Math.max(...[...parameterChoices.values()].map(({ size }) => size));
  const rounds = Array.from({ length: most }, (_, index) => index);
  const answers = await forEachFile(
    [
      ...rounds.map(
        (index) => `[global]\n${linesFor([...globalParameters, ...shareParameters], defaults, index).join('')}`,
      ),
      `[global]\n[words]\npath = /tmp\n${linesFor(globalParameters, defaults).join('')}`,
      `[global]\n[words]\npath = /tmp\n${linesFor(shareParameters, defaults).join('')}`,
    ],
    'testparm -s --suppress-prompt $file 2>&1 >/dev/null || true',
  );
  const [first = ''] = answers;
  for (const answer of answers.slice(0, most)) {
    assert.doesNotMatch(answer, /Unknown parameter|Ignoring invalid|value is not|Error loading/);
  }
  const deprecated = [...first.matchAll(/The "(.*?)" option is deprecated/g)].map(([, name = '']) => plainName(name));
  assert.deepEqual([...new Set(deprecated)].sort(), [...deprecatedParameters].sort());
  const inShares = (answer: string) => answer.match(/Global parameter/g)?.length;
  assert.equal(inShares(answers.at(-2) ?? ''), linesFor(globalParameters, defaults).length);
  assert.equal(inShares(answers.at(-1) ?? ''), undefined);
});

// ProFTPD ------------------------------------------------------------------------------------------------------------

/** Modules that others require. */
const required: readonly (readonly [RegExp, string])[] = [
  [/_sql|^mod_sql_|auth_otp/, 'mod_sql.c'],
  [/redis/, 'mod_redis.c'],
  [/memcache/, 'mod_memcache.c'],
  [/radius/, 'mod_radius.c'],
  [/^mod_sftp_/, 'mod_sftp.c'],
  [/^mod_tls_/, 'mod_tls.c'],
  [/^mod_wrap2_/, 'mod_wrap2.c'],
  [/^mod_quotatab_/, 'mod_quotatab.c'],
];

test('ProFTPD knows the directives of the copy, and takes the same values for switches', async () => {
  const modules = [['', builtInDirectives] as const, ...moduleDirectives];
  const cases = modules.flatMap(([module, directives]) => {
    const needed = required
      .filter(([pattern, name]) => pattern.test(module) && name !== module)
      .map(([, name]) => name);
    const loads = [...needed, module].filter((name) => name !== '').map((name) => `LoadModule ${name}\n`);
    return directives
      .filter((name) => !/^(<|Include|LoadModule|Define$)/.test(name))
      .flatMap((name) =>
        (switchDirectives.includes(name) ? ['perhaps', 'optional'] : ['perhaps']).map((value) => `${name} ${value}`),
      )
      .map((line) => ({
        line,
        file: `ModulePath /usr/lib/proftpd\nServerType standalone\nDefaultAddress 127.0.0.1\n${loads.join('')}${line}\n`,
      }));
  });
  const answers = await forEachFile(
    cases.map(({ file }) => file),
    'proftpd -t -c /tmp/words/$file 2>&1 | grep -a "fatal: " | head -1',
  );
  const kind = (output: string) => /unknown configuration directive|boolean(?! or)/i.exec(output)?.[0].toLowerCase();
  const differing = cases
    .map(({ line, file }, index) => {
      const real = answers[index] ?? '';
      const copied = proftpdTest('/x', { read: () => file, matching: () => [] }).stderr;
      return { line, real, same: kind(real) === kind(copied) };
    })
    .filter(({ same }) => !same);
  assert.deepEqual(differing, []);
});

// sshd ---------------------------------------------------------------------------------------------------------------

test('sshd knows the keywords of the copy, has no others, and takes the same switches', async () => {
  const keywords = words(`${switchKeywords} ${numberKeywords} ${otherKeywords}`);
  const shown = words(await machine.run("ssh-keygen -A >/dev/null; /usr/sbin/sshd -T | awk '{ print $1 }' | sort -u"));
  assert.deepEqual(
    shown.filter((one) => !keywords.some((keyword) => keyword.toLowerCase() === one)),
    [],
  );
  const switched = new Set(words(switchKeywords));
  const cases = keywords.flatMap((keyword) =>
    (switched.has(keyword) ? ['yes', 'true', 'local', 'perhaps'] : ['3']).map((value) => `${keyword} ${value}\n`),
  );
  const answers = await forEachFile(cases, '/usr/sbin/sshd -G -f $file 2>&1 >/dev/null | head -1');
  const kind = (output: string) => /Bad configuration option|unsupported option/.exec(output)?.[0];
  const differing = cases
    .map((line, index) => ({ line, real: answers[index] ?? '', copied: sshdTest('/x', () => line).stderr }))
    .filter(
      ({ line, real, copied }) =>
        kind(real) !== kind(copied) && (switched.has(line.split(' ')[0] ?? '') || /Bad/.test(real)),
    );
  assert.deepEqual(differing, []);
});

// snmpd and netatalk -------------------------------------------------------------------------------------------------

test('snmpd lists no directive that the copy lacks', async () => {
  const listed = words(
    await machine.run(
      'snmpd -H 2>&1 | sed -n "/In snmpd.conf/,/In snmp.conf/p" | sed "1d;\\$d" | awk \'{ print $1 }\' | sort -u',
    ),
  );
  assert.ok(listed.length > 80, `snmpd listed ${listed.length}`);
  const known = words(snmpDirectives).map((name) => name.toLowerCase());
  assert.deepEqual(
    listed.filter((name) => !known.includes(name.toLowerCase())),
    [],
  );
});

test('the programs of netatalk contain every parameter of the copy', async () => {
  const names = [...new Set([...afp.globalParameters, ...afp.volumeParameters])];
  const lacking = await machine.run(
    `cat /usr/sbin/netatalk /usr/sbin/afpd $(ldd /usr/sbin/afpd | grep -o '/[^ ]*libatalk[^ ]*') >/tmp/netatalk
    ${names.map((name) => `grep -aqF '${name}' /tmp/netatalk || echo '${name}'`).join('\n')}`,
  );
  assert.equal(lacking.trim(), '');
});

// The keyboard -------------------------------------------------------------------------------------------------------

test('the keyboards of the copy are those that the console of Debian can be given', async () => {
  const listed = await machine.run(`awk '
    /^!/ { part = $2; next }
    part == "layout" && $1 != "custom" { print $1 }
    part == "variant" && NF { print substr($2, 1, length($2) - 1) "." $1 }' /usr/share/X11/xkb/rules/base.lst`);
  const copied = knownKeyboards
    .trim()
    .split(/\n(?! )/)
    .map(words)
    .flatMap(([layout = '', ...variants]) => [layout, ...variants.map((variant) => `${layout}.${variant}`)]);
  assert.deepEqual(copied.toSorted(), words(listed).toSorted());
});
