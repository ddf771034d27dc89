import { invalid } from '../../engine/declare/errors.ts';
import { text } from '../../engine/declare/fields.ts';
import { volumesFolder } from '../../engine/declare/location.ts';
import { operation, section } from '../../engine/declare/operation.ts';
import { flagOf, integerOf, listOf, objectOf, orNull, stringOf } from '../../engine/declare/schema.ts';
import { isWithin, normalPath } from '../../lib/path.ts';
import { quote } from '../../lib/text.ts';

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

/** The most folders that are answered: a list to choose from, not a copy of the file system. */
const mostFolders = 1000;

export const folders = section('folders', 'Folders of volumes.', [
  operation({
    method: 'GET',
    path: 'folders',
    name: 'listFolders',
    title: 'Lists the folders in a folder of a volume, without those whose names begin with a dot.',
    query: {
      path: text({
        description: `Path of the folder, ${volumesFolder} or one below it.`,
        max: 4096,
        initial: volumesFolder,
      }),
    },
    answer: listOf(
      objectOf('Folder', {
        path: stringOf('Its path.'),
        dataset: orNull(stringOf('Name of the dataset that is mounted there; null for another folder.')),
      }),
    ),
    list: { key: ['path'] },
    async run({ engine, query, operations }) {
      const path = normalPath(query.path);
      if (path !== volumesFolder && !isWithin(path, volumesFolder))
        throw invalid({ path: [`Expected ${volumesFolder} or a path below it, got ${quote(query.path)}.`] });
      const { storage } = engine.world.facts;
      const mounted = new Map([...storage.datasets.values()].map(({ name, mountpoint }) => [mountpoint, name]));
      // Below the folder of the volumes only they count: what else lies there is on the system's disk.
      const found =
        path === volumesFolder
          ? [...mounted.keys()].filter(
              (one): one is string => typeof one === 'string' && one.slice(0, one.lastIndexOf('/')) === volumesFolder,
            )
          : await operations.ask(`list the folders in ${path}`, ({ files }) => files.folders(path, volumesFolder));
      return found
        .toSorted((a, b) => a.localeCompare(b))
        .slice(0, mostFolders)
        .map((one) => ({ path: one, dataset: mounted.get(one) ?? null }));
    },
  }),
]);
