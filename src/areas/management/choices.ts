import { invalid } from '../../engine/declare/errors.ts';
import { flag, required, text } from '../../engine/declare/fields.ts';
import { volumeOf, volumePath } from '../../engine/declare/formats.ts';
import { volumesFolder } from '../../engine/declare/location.ts';
import { operation, section } from '../../engine/declare/operation.ts';
import {
  choiceOf,
  flagOf,
  integerOf,
  listOf,
  objectOf,
  orNull,
  stringOf,
  timeOf,
} from '../../engine/declare/schema.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { HostError } from '../../host/ports/index.ts';
import { isWithin, lastElement, normalPath, parentOf } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';
import { makeFolder, setPermissions } from '../folders/folders.ts';

export const disks = section('disks', 'Disks with what uses them.', [
  operation({
    method: 'GET',
    path: 'disks',
    name: 'listDiskUse',
    title: 'Lists the disks with what uses them, which tells those that a pool can be made of.',
    answer: listOf(
      objectOf('DiskUse', {
        name: stringOf('Device name.'),
        serial: stringOf('Serial number; empty when the disk reports none.'),
        model: stringOf('Model; empty when the disk reports none.'),
        size: integerOf('Size in bytes.'),
        rotational: flagOf('Whether it has spinning platters.'),
        used_by: orNull(stringOf('Why it cannot be added to a pool; null for a disk that is free.')),
      }),
    ),
    list: { key: ['name'] },
    run: ({ engine }) =>
      engine.world.facts.disks.map(({ name, serial, model, size, rotational, usedBy }) => ({
        ...{ name, serial, model, size, rotational },
        used_by: usedBy ?? null,
      })),
  }),
]);

/** The most entries of a folder that is listed: a list to choose from, not a copy of the file system. */
const mostEntries = 10_000;

const perPage = 1000;

export const folders = section('folders', 'Folders of volumes.', [
  operation({
    method: 'GET',
    path: 'folders',
    name: 'listFolders',
    title:
      'Lists the folders in a folder of a volume, and with files also what else is there, without names that begin with a dot.',
    query: {
      path: text({
        description: `Path of the folder, ${volumesFolder} or one on a volume. Links on the way are not followed.`,
        max: 4096,
        initial: volumesFolder,
      }),
      files: flag(false, { description: 'Whether files and links are listed too.' }),
    },
    answer: listOf(
      objectOf('Folder', {
        path: stringOf('Its path.'),
        kind: choiceOf(['folder', 'file', 'link', 'other'], 'What it is. A link is not followed.'),
        dataset: orNull(stringOf('Name of the dataset that is mounted there; null for what is in a dataset.')),
        owner: orNull(stringOf('Name of its owner; null when no account has the uid.')),
        group: orNull(stringOf('Name of its group; null when no group has the gid.')),
        uid: integerOf('Uid of its owner.'),
        gid: integerOf('Gid of its group.'),
        mode: stringOf('Permission bits in octal, such as 0755.'),
        size: integerOf('Size in bytes; of a folder, what its list of names has.'),
        modified: timeOf('When its content was changed last; of a folder, its list of names.'),
      }),
    ),
    list: { key: ['path'], limit: perPage },
    async run({ engine, query, operations, context }) {
      const { facts } = engine.world;
      const path = normalPath(query.path);
      const mounted = mountedIn(facts);
      const confinedTo = context.access?.rights.dataset ?? '';
      const dataset = datasetAt(path, mounted);
      if (confinedTo !== '' && (dataset === undefined || !isWithin(dataset, confinedTo)))
        throw invalid({
          path: [
            `Expected a path in the dataset ${quote(confinedTo)}, to which the key is confined, got ${quote(query.path)}.`,
          ],
        });
      if (path !== volumesFolder && dataset === undefined)
        throw invalid({ path: [`Expected ${volumesFolder} or a path on a volume, got ${quote(query.path)}.`] });
      const found = await operations.ask(`list the folders in ${path}`, ({ files }) =>
        files
          .entries(path, { within: volumesFolder, foldersOnly: !query.files, most: mostEntries })
          .catch((error: unknown) => {
            throw error instanceof HostError
              ? invalid({ path: [`Expected a folder that can be listed: ${error.message}.`] })
              : error;
          }),
      );
      const owners = new Map(facts.accounts.users.map(({ uid, name }) => [uid, name]));
      const groups = new Map(facts.accounts.groups.map(({ gid, name }) => [gid, name]));
      return (
        found
          .map((entry) => ({ ...entry, path: `${path}/${entry.name}` }))
          // Beside the volumes only they count: what else lies there is on the system's disk. A dataset that is mounted
          // in the one of a confined key can be another's.
          .filter((one) => {
            const name = mounted.get(one.path);
            if (path === volumesFolder) return name !== undefined;
            return confinedTo === '' || name === undefined || isWithin(name, confinedTo);
          })
          .map((one) => ({
            path: one.path,
            kind: one.kind,
            dataset: mounted.get(one.path) ?? null,
            owner: owners.get(one.uid) ?? null,
            group: groups.get(one.gid) ?? null,
            uid: one.uid,
            gid: one.gid,
            mode: one.mode.toString(8).padStart(4, '0'),
            size: one.size,
            modified: new Date(one.modified).toISOString(),
          }))
      );
    },
  }),
  operation({
    method: 'POST',
    path: 'folders',
    name: 'createFolder',
    title: 'Creates a folder on a volume, with the owner and permissions of the folder that it is in.',
    body: {
      path: required(volumePath({ description: 'Path of the new folder. The folder that it is in must exist.' })),
    },
    status: 201,
    answer: objectOf('NewFolder', { path: stringOf('Its path.') }),
    example: { body: { path: '/mnt/tank/projects' } },
    async run({ body: { path: sent }, operations }) {
      const path = normalPath(sent);
      const above = parentOf(path);
      const within = `${volumesFolder}/${volumeOf(path, operations.world.facts) ?? ''}`;
      if (path === within) throw invalid({ path: [`Expected a path below a volume, got ${quote(sent)}.`] });
      const owner = await operations.ask(`look at ${above}`, async ({ files }) => {
        if ((await files.kind(path)) !== undefined) throw invalid({ path: [`${quote(path)} exists.`] });
        const options = { within: volumesFolder, foldersOnly: true, most: mostEntries };
        const beside = await files.entries(parentOf(above), options).catch((error: unknown) => {
          throw error instanceof HostError
            ? invalid({ path: [`Expected an existing folder: ${error.message}.`] })
            : error;
        });
        const found = beside.find(({ name }) => name === lastElement(above));
        if (found === undefined)
          throw invalid({ path: [`Expected a path in an existing folder, got ${quote(sent)}.`] });
        return found;
      });
      await operations.onlyChange(`create the folder ${path}`, ({ plan }) => {
        const { uid, gid, mode } = owner;
        plan.first(makeFolder({ title: `create the folder ${path}`, path, within, mode }));
        plan.last(
          setPermissions(`give ${path} the owner of ${above}`, path, {
            ...{ within, uid, gid, folderMode: mode, recursive: false },
          }),
        );
      });
      return { path };
    },
  }),
]);

/** The datasets that are mounted below the folder of volumes, by their mount points. */
export function mountedIn({ storage: { datasets } }: Facts): ReadonlyMap<string, string> {
  return new Map(
    [...datasets.values()].flatMap(({ name, mountpoint }) =>
      typeof mountpoint === 'string' && isWithin(mountpoint, volumesFolder) ? [[mountpoint, name] as const] : [],
    ),
  );
}

/** The dataset that has a path: the one that is mounted there, or else nearest above it. */
export function datasetAt(path: string, mounted: ReadonlyMap<string, string>): string | undefined {
  for (let at = path; isWithin(at, volumesFolder); at = parentOf(at)) {
    const name = mounted.get(at);
    if (name !== undefined) return name;
  }
  return undefined;
}
