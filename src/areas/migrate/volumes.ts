/** What there is to know about the pools of the old appliance, before and after they are imported. */
import type { Dataset } from '../../host/ports/zfs.ts';
import { sentenceList } from '../../lib/text.ts';
import type { Row } from './database.ts';
import { type Stay, stay, type Target } from './mapping.ts';

/** A volume that is not imported, and what its labels say of it. */
export function absentVolume(row: Row, { importable }: Target): Stay {
  const [name, guid] = [row.text('vol_name'), row.text('vol_guid')];
  const found = importable.find((pool) => (guid === '' ? pool.name === name : pool.guid === guid));
  const left = `The volume ${name} (guid ${guid}) is not imported here. What lies on it was left out.`;
  if (found === undefined) return stay(left, 'Connect its disks, import it, and migrate again.');
  const told = [
    'Its disks are connected.',
    ...(found.version === undefined ? [] : [versionSentence(found.version)]),
    ...(found.status === undefined ? [] : [`ZFS says: ${found.status}`]),
    ...(found.usedBy === undefined ? [] : [`${found.usedBy} has it in use: export it there first.`]),
    'An import upgrades nothing, so that the old appliance can still read it.',
  ];
  return stay(`${left} ${told.join(' ')}`, `Import it: holdfast create pool/import. Then migrate again.`);
}

const versionSentence = (version: string) =>
  version === '5000' ? 'It has feature flags (version 5000).' : `It has the version ${version}, without feature flags.`;

/** What is different on Linux for the datasets of an imported volume. */
export function volumeRemarks(row: Row, { storage, old }: Target): readonly Stay[] {
  const name = row.text('vol_name');
  const pool = storage.pools.get(name);
  if (pool === undefined) return [];
  const own = [...storage.datasets.values()].filter((one) => one.name === name || one.name.startsWith(`${name}/`));
  const files = own.filter(({ kind }) => kind === 'filesystem');
  const folded = files.filter(({ properties }) => /^(?:insensitive|mixed)$/.test(properties.casesensitivity ?? ''));
  const jails = files.filter((one) => holdsJails(one, old.rows('jails_jailsconfiguration')[0]?.text('jc_path')));
  const hidden = files.filter(({ mountpoint }) => mountpoint === undefined);
  const elsewhere = files.filter((one) => one.mountpoint !== undefined && one.mountpoint !== `/mnt/${one.name}`);
  return [
    ...(pool.upgraded
      ? []
      : [
          stay(
            `The pool ${name} lacks features that ZFS has here. It works as it is, and nothing upgrades it by itself.`,
            'Upgrade it only when the old appliance is not needed any more: it cannot read the pool after that.',
          ),
        ]),
    stay(
      `Files of ${name} may have NFSv4 access lists, which Windows clients set. They stay in the pool, and Linux does not apply them: owner, group and mode decide.`,
      `Check who may read each share. For access lists of Linux: zfs set acltype=posix xattr=sa ${name}. That changes no file and keeps the old lists, which the old appliance would apply again; lists that are made here mean nothing there.`,
    ),
    ...(folded.length === 0
      ? []
      : [
          stay(
            `Names of files do not differ by upper and lower case in ${namesOf(folded)}. That stays so, because a dataset is made with it.`,
            'Nothing, unless a program here needs both: copy the files to a new dataset then.',
          ),
        ]),
    ...(jails.length === 0
      ? []
      : [
          stay(
            `${namesOf(jails)} and what is below hold jails of FreeBSD, whose programs do not run on Linux. Holdfast leaves these datasets alone.`,
            'Copy the data out of them, and destroy them once nothing needs them.',
          ),
        ]),
    ...(hidden.length === 0
      ? []
      : [
          stay(
            `${namesOf(hidden)} is not mounted: it is locked, or is not to be mounted.`,
            'Unlock what is encrypted, and migrate again, so that shares on it are carried.',
          ),
        ]),
    ...(elsewhere.length === 0
      ? []
      : [
          stay(
            `${namesOf(elsewhere)} is mounted elsewhere than below /mnt/${name}.`,
            'To share it: zfs inherit mountpoint DATASET.',
          ),
        ]),
  ];
}

const namesOf = (datasets: readonly Dataset[]) => {
  const names = datasets.map(({ name }) => name);
  return sentenceList(names.length > 8 ? [...names.slice(0, 8), `${names.length - 8} others`] : names);
};

/** The uppermost dataset of the jails of an old appliance: iocage names its own, warden has a setting. */
function holdsJails({ name, mountpoint }: Dataset, folder: string | undefined): boolean {
  const [, child, ...deeper] = name.split('/');
  return (
    (child === 'iocage' && deeper.length === 0) ||
    (folder !== undefined && folder !== '' && (mountpoint === folder || `/mnt/${name}` === folder))
  );
}
