import { invalid } from '../../engine/declare/errors.ts';
import { field, flag, freeObject, good, optional, required, secret, text, wrong } from '../../engine/declare/fields.ts';
import { operation, section } from '../../engine/declare/operation.ts';
import { integerOf, listOf, objectOf, stringOf } from '../../engine/declare/schema.ts';
import type { Host } from '../../host/ports/index.ts';
import type { Link } from '../../host/ports/network.ts';
import { normalPath } from '../../lib/path.ts';
import { inSlices } from '../../lib/slices.ts';
import { quote } from '../../lib/text.ts';
import { kindsOf } from '../file/kinds.ts';
import { freshSource, State, sourceOf } from '../file/state.ts';
import type { OldDatabase } from '../migrate/database.ts';
import { oldInterfaces } from '../migrate/interfaces.ts';
import { migrated } from '../migrate/migration.ts';
import { readUpload } from '../migrate/reading.ts';
import { mostBytes } from '../migrate/upload.ts';
import { identifierOf } from '../storage/disks.ts';

const left = objectOf('NotMigrated', {
  table: stringOf('Table of the old database.'),
  row: stringOf('Number of the row; empty for the whole table.'),
  column: stringOf('Column, or the field here that has no value; empty for the whole row.'),
  record: stringOf('The record of the file that it belongs to, such as share/smb media; empty without one.'),
  reason: stringOf('Why it was not carried, or what to know.'),
  remedy: stringOf('What to do.'),
});

const oldInterface = objectOf('OldInterface', {
  name: stringOf('Name on the old appliance.'),
  description: stringOf('The name that people gave it.'),
  mac: stringOf('Hardware address; empty before 12.0, which does not store it.'),
  addresses: listOf(stringOf('An address, as address/bits.'), 'Its addresses.'),
  chosen: stringOf('The interface here that the request chose for it; empty for none.'),
  proposed: stringOf('The interface here that probably takes its place; empty without a reason for one.'),
  why: stringOf('Why that one.'),
});

const interfaceHere = objectOf('InterfaceHere', {
  name: stringOf('Name.'),
  mac: stringOf('Hardware address; empty if it has none.'),
  link: stringOf('Whether it has a link: yes, no or unknown.'),
  addresses: listOf(stringOf('An address, as address/bits.'), 'Its addresses.'),
});

/** An empty database of 11.2, compressed. */
const example = [
  'H4sIAAAAAAACAwsO9MksSVVIyy/KTSxRMGZgYmBkZHBQUGCAACYGBGBkYGBgQeMTBXhBihmXMTAuYxgFZIEIRjZxfX3GxJLEpJzU',
  'lKzEvPT8+NzM9KLEksz8vGIMASbnIFfHEFeFEEcnH1cFDGkFjcSCAh2FvMTcVE1I3LxhYHwzGsrDHQgxMkvKF1cWl6TmGhgYWcYn',
  'lpbkAwAZOKGDAAQAAA==',
].join('');

const mostLetters = Math.ceil((mostBytes * 4) / 3);

/** Its letters are looked at where they are decoded, in a thread: sixteen million take too long here. */
const encoded = field<string>({
  description: 'The database freenas-v1.db, or the archive of an export, in base64.',
  schema: { type: 'string', maxLength: mostLetters },
  read: (sent) =>
    typeof sent === 'string' && sent.length <= mostLetters
      ? good(sent)
      : wrong(`Expected base64 of at most ${mostLetters} characters, got ${quote(sent)}.`),
});

export const migrate = section('migrate', 'The configuration of an old appliance, as a proposed file.', [
  operation({
    method: 'POST',
    path: 'migrate',
    name: 'migrateConfig',
    alone: 'It changes nothing.',
    title: 'Proposes a file from the database of FreeNAS or TrueNAS CORE 9.3 to 13.0. It changes nothing.',
    body: {
      content: required(secret(encoded)),
      secret: optional(
        secret(text({ description: 'The key pwenc_secret in base64, if the archive does not have it.', max: 1000 })),
      ),
      interfaces: freeObject({
        description: 'Which interface here takes the configuration of which there, as {"em0": "enp1s0"}.',
        maxBytes: 65_536,
      }),
      root: flag(false, { description: 'Whether root gets the password that it had.' }),
      rehearse: flag(false, {
        description:
          'Whether paths are carried that are not there, for a machine without the data of the old appliance.',
      }),
    },
    answer: objectOf('Migration', {
      version: stringOf('Version of the old appliance.'),
      file: stringOf('The proposed file, for file/diff and file/apply.'),
      records: integerOf('Number of records in it.'),
      left: listOf(left, 'What was not carried, and what to know.'),
      interfaces: listOf(oldInterface, 'Interfaces of the old appliance. Choose one here for each that is carried.'),
      here: listOf(interfaceHere, 'Interfaces of this machine.'),
      ignored: listOf(stringOf('A name.'), 'Members of the archive that were not read.'),
    }),
    example: { body: { content: example } },
    async run(call) {
      const { body, engine, fileSecrets, operations } = call;
      const { old, ignored } = await readUpload({ content: body.content, secret: body.secret });
      const kinds = kindsOf(engine.resources);
      const { world, freshConfiguration } = engine;
      const { facts } = world;
      const nics = facts.network.links;
      const asked = oldInterfaces(old, nics);
      const interfaces = interfacesOf(body.interfaces, old, nics);
      const paths = body.rehearse ? [] : await inSlices(pathsOf(old, new Set(facts.storage.pools.keys())));
      const absent = await operations.ask('look at the paths of the old appliance', (host) => absentAmong(paths, host));
      const found = await migrated(
        old,
        kinds,
        {
          state: new State(kinds, sourceOf(world)),
          pools: new Set(facts.storage.pools.keys()),
          ...{ storage: facts.storage, importable: facts.importable, absent },
          machine: facts.accounts,
          interfaces,
          nics,
          disks: facts.disks.map((disk) => ({ id: identifierOf(disk), serial: disk.serial })),
          withRoot: body.root,
        },
        {
          fresh: new State(kinds, freshSource(freshConfiguration)),
          secret: (purpose, value) => ({ sealed: fileSecrets.seal(purpose, value) }),
        },
      );
      return {
        version: old.version,
        file: found.text,
        records: [...found.records.values()].reduce((sum, { size }) => sum + size, 0),
        left: found.left.map(({ kind, key: name, table, row, column, reason, remedy }) => ({
          ...{ table, row, column, reason, remedy },
          record: kind === undefined ? '' : `${kind.name} ${kind.isSettings ? '' : name}`.trim(),
        })),
        interfaces: asked.map((one) => ({ ...one, chosen: interfaces.get(one.name) ?? '' })),
        here: nics.map(({ name, mac = '', carrier, addresses }) => ({
          ...{ name, mac, addresses },
          link: carrier === undefined ? 'unknown' : carrier ? 'yes' : 'no',
        })),
        ignored,
      };
    },
  }),
]);

/** More paths than this are not looked at: shares and tasks of people are far fewer. */
const mostPaths = 10_000;

/** Paths on imported pools that any column names, also in a list of JSON. */
function* pathsOf(old: OldDatabase, pools: ReadonlySet<string>): Generator<undefined, readonly string[]> {
  const paths = new Set<string>();
  for (const rows of old.tables.values())
    for (const row of rows) {
      yield;
      for (const column of row.columns) {
        const text = row.text(column);
        for (const [whole] of text.startsWith('[') ? text.matchAll(/(?<=")\/mnt\/[^"]+(?=")/g) : [[text.trim()]])
          if (pools.has(/^\/mnt\/([^/]+)/.exec(whole ?? '')?.[1] ?? '')) paths.add(normalPath(whole ?? ''));
      }
    }
  return [...paths].slice(0, mostPaths);
}

async function absentAmong(paths: readonly string[], { files }: Host): Promise<ReadonlySet<string>> {
  const absent = new Set<string>();
  for (const path of paths) if ((await files.kind(path)) === undefined) absent.add(path);
  return absent;
}

function interfacesOf(
  given: Readonly<Record<string, unknown>>,
  old: OldDatabase,
  nics: readonly Link[],
): ReadonlyMap<string, string> {
  const names = nics.map(({ name }) => name);
  const there = [
    ...oldInterfaces(old, nics).map(({ name }) => name),
    ...old.rows('network_interfaces').map((row) => row.text('int_interface')),
  ];
  const refuse = (sentence: string) => invalid({ interfaces: [sentence] });
  const chosen = new Map<string, string>();
  for (const [from, name] of Object.entries(given)) {
    if (typeof name !== 'string' || !names.includes(name))
      throw refuse(
        `There is no interface ${JSON.stringify(name)} for ${JSON.stringify(from)}. There is ${names.join(', ')}.`,
      );
    if (!there.includes(from))
      throw refuse(
        `The old appliance has no interface ${JSON.stringify(from)}. It has ${[...new Set(there)].join(', ') || 'none'}.`,
      );
    const other = [...chosen].find(([, one]) => one === name)?.[0];
    if (other !== undefined) throw refuse(`${name} is given for both ${other} and ${from}. Choose one of them.`);
    chosen.set(from, name);
  }
  return chosen;
}
