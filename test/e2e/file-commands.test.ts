import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { catalogue, management } from '../../src/areas/index.ts';
import { exits } from '../../src/cli/client/failure.ts';
import { runClient } from '../../src/cli/client/main.ts';
import { listenLocally } from '../../src/cli/local-socket.ts';
import { vocabularyOf } from '../../src/engine/declare/vocabulary.ts';
import { type Appliance, appliance } from '../support/appliance.ts';

const vocabulary = vocabularyOf(catalogue, management);

/** A folder with files, and `holdfast` for an appliance with a volume. */
class Place implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-files-'));
  readonly nas: Appliance;
  readonly environment: Record<string, string>;
  readonly #server: ReturnType<Appliance['app']['localServer']>;

  private constructor(nas: Appliance) {
    this.nas = nas;
    this.environment = { XDG_CONFIG_HOME: this.folder, XDG_CACHE_HOME: this.folder };
    this.#server = nas.app.localServer();
  }

  static async open(): Promise<Place> {
    const place = new Place(await appliance());
    await listenLocally(place.#server, place.#socket);
    await place.nas.api.expect(201, 'POST', 'storage/volume/', {
      volume_name: 'tank',
      layout: [{ vdevtype: 'stripe', disks: ['ada0'] }],
    });
    return place;
  }

  get #socket(): string {
    return join(this.folder, 'local', 'holdfast.socket');
  }

  write(name: string, text: string): string {
    const path = join(this.folder, name);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  /** What the command prints, after its exit code was compared. */
  async run(exit: number, ...argv: readonly string[]): Promise<string> {
    let printed = '';
    const print = (text: string) => {
      printed += text;
    };
    const ended = await runClient(argv, {
      vocabulary: async () => vocabulary,
      terminal: {
        ...{ columns: undefined, asks: false, environment: this.environment, out: print, err: print },
        question: async () => '',
        input: () => '',
      },
      socket: () => this.#socket,
      settings: () => assert.fail('the settings of the daemon are not needed'),
      version: () => 'test',
    });
    assert.equal(ended, exit, `holdfast ${argv.join(' ')}: ${printed}`);
    return printed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await this.nas[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const share = (name: string) => `holdfast: 1\nshare/smb:\n  ${name}:\n    path: /mnt/tank/${name}\n`;

test('export, diff and apply, with the exit codes of the other commands', async () => {
  await using place = await Place.open();
  const file = join(place.folder, 'out.yaml');
  assert.equal(await place.run(exits.done, 'export', '-o', file), '');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(readFileSync(file, 'utf8'), await place.run(exits.done, 'export'));
  assert.equal(await place.run(exits.done, 'diff', '-f', file), 'Nothing differs.\n');
  assert.match(await place.run(exits.done, 'export', '--full', '-o', 'json'), /"workgroup": "WORKGROUP"/);
  const one = place.write('one.yaml', share('one'));
  assert.match(
    await place.run(exits.differences, 'apply', '-f', one, '--plan'),
    /The command would:\n {2}create the folder/,
  );
  const diff = await place.run(exits.differences, 'diff', '-f', one);
  assert.match(diff, /^\+ share\/smb one\n {4}path: \/mnt\/tank\/one\n1 created\n/);
  const [, token = ''] = /--token (\S+)/.exec(diff) ?? [];
  await place.run(exits.done, 'create', 'share/smb', 'two', '--path', '/mnt/tank/two');
  assert.match(await place.run(exits.conflict, 'apply', '-f', one, '--token', token), /has changed since the diff/);
  assert.match(await place.run(exits.done, 'apply', '-f', one), /^Applied: 1 created\. It is the revision \d+\.\n$/);
  assert.equal(await place.run(exits.done, 'apply', '-f', one), 'Nothing differs.\n');
  assert.match(await place.run(exits.usage, 'apply'), /Expected a file or a folder/);
  assert.match(await place.run(exits.usage, 'diff', '-f', join(place.folder, 'none')), /cannot be read/);
  const wrong = place.write('wrong.yaml', 'holdfast: 1\nshare/smb:\n  a: { gest: true }\nemial: {}\n');
  assert.equal(
    await place.run(exits.refused, 'apply', '-f', wrong),
    [
      'holdfast: wrong.yaml:3: share/smb "a": There is no field "gest". Did you mean guest?',
      'holdfast: wrong.yaml:3: share/smb "a": path is required.',
      'holdfast: wrong.yaml:4: There is no kind "emial". Did you mean email?',
      '',
    ].join('\n'),
  );
});

test('a folder of files is merged, and remembered under its name', async () => {
  await using place = await Place.open();
  const folder = join(place.folder, 'site');
  place.write('site/a.yaml', share('a'));
  place.write('site/b.yml', share('b'));
  place.write('site/notes.txt', 'not read');
  assert.match(await place.run(exits.done, 'apply', '-f', folder), /2 created/);
  place.write('site/b.yml', share('c'));
  assert.match(await place.run(exits.done, 'apply', '-f', folder, '--prune'), /1 created, 1 removed/);
  const names = (await place.nas.api.list('sharing/cifs/?limit=0')).map(({ cifs_name }) => cifs_name);
  assert.deepEqual(names, ['a', 'c']);
  place.write('site/d.yaml', share('a'));
  assert.match(await place.run(exits.refused, 'diff', '-f', folder), /d\.yaml:3: .*is defined in a\.yaml, line 3/);
});

test('secrets are read from files and variables where the command is given', async () => {
  await using place = await Place.open();
  const user = (secret: string) =>
    `holdfast: 1\ngroup: { family: {} }\nuser:\n  anna: { full_name: Anna, group: family, password: ${secret} }\n`;
  const byFile = place.write('site.yaml', user('{ file: secrets/anna }'));
  assert.match(await place.run(exits.usage, 'apply', '-f', byFile), /secrets\/anna cannot be read/);
  place.write('secrets/anna', 'from the file\n');
  assert.match(await place.run(exits.done, 'apply', '-f', byFile), /2 created/);
  assert.equal(await place.run(exits.done, 'diff', '-f', byFile), 'Nothing differs.\n');
  const byVariable = place.write('other.yaml', user('{ env: ANNA }'));
  assert.match(await place.run(exits.usage, 'diff', '-f', byVariable), /ANNA is not set/);
  place.environment['ANNA'] = 'from the file';
  assert.equal(await place.run(exits.done, 'diff', '-f', byVariable), 'Nothing differs.\n');
  place.environment['ANNA'] = 'another one';
  const shown = await place.run(exits.differences, 'diff', '-f', byVariable);
  assert.match(shown, /~ user anna\n {4}password: \*+ → \*+\n/);
  assert.ok(!shown.includes('another one'));
});

test('an apply that is not confirmed in time is taken back', async () => {
  await using place = await Place.open();
  const provisional = () => place.nas.engine.provisional;
  const file = place.write('site.yaml', 'holdfast: 1\nnetwork: { domain: other.example.com }\n');
  assert.match(await place.run(exits.done, 'apply', '-f', file, '--confirm-within', '60'), /holdfast confirm/);
  assert.equal(provisional()?.title, 'apply the file site.yaml');
  await place.run(exits.done, 'confirm');
  assert.equal(provisional(), undefined);
  const domain = async () => (await place.nas.api.expect(200, 'GET', 'network/globalconfiguration/'))['gc_domain'];
  assert.equal(await domain(), 'other.example.com');
  place.write('site.yaml', 'holdfast: 1\nnetwork: { domain: third.example.com }\n');
  await place.run(exits.done, 'apply', '-f', file, '--confirm-within', '1');
  assert.equal(provisional()?.title, 'apply the file site.yaml');
  while (provisional() !== undefined) await wait(50);
  assert.equal(await domain(), 'other.example.com');
});

test('a plugin that cannot be installed is named, and the command ends with the code of a failed job', async () => {
  await using place = await Place.open();
  const { machine } = place.nas;
  const manifest = { format: 1, name: 'small', version: '1', start: ['true'], stop: ['true'], port: 9000 };
  await machine.files.write('/srv/small/plugin.json', JSON.stringify(manifest));
  const text = (name: string) => `holdfast: 1
dataset: { tank/jails: {} }
jail/settings: { path: /mnt/tank/jails, ipv4_network: 10.3.0.0/24 }
jail: { web: {} }
plugin: { web ${name}: { jail: web, name: ${name}, bundle: /srv/small } }
`;
  const printed = await place.run(exits.jobFailed, 'apply', '-f', place.write('site.yaml', text('other')));
  assert.match(printed, /^Applied: 2 created, 1 changed\. It is the revision \d+\.$/m);
  assert.match(
    printed,
    /^site\.yaml:5: plugin "web other": Expected the plugin "other", and .* the plugin "small"\.$/m,
  );
  assert.match(printed, /^Everything else was applied\. To try it again, apply the file again\.$/m);
  assert.match(await place.run(exits.jobFailed, 'apply', '-f', join(place.folder, 'site.yaml')), /^site\.yaml:5: /);
  const right = place.write('site.yaml', text('small'));
  assert.match(await place.run(exits.done, 'apply', '-f', right), /^Applied: 1 created\. It is the revision \d+\.$/m);
  assert.match(await place.run(exits.done, 'apply', '-f', right), /^Nothing differs\.$/m);
});
