import { locationsOf } from '../../engine/configuration/occupants.ts';
import type { Effect } from '../../engine/declare/access.ts';
import type { Fields } from '../../engine/declare/fields.ts';
import type { Kept, RecordChange } from '../../engine/declare/kept.ts';
import type { RecordOf, World } from '../../engine/declare/resource.ts';
import type { Step } from '../../engine/declare/step.ts';
import { binEntry } from '../bin/bin-entry.ts';
import { iscsiExtent, zvolOf } from '../services/iscsi/extent.ts';
import { iscsiTarget } from '../services/iscsi/target.ts';
import { iscsiTargetGroup } from '../services/iscsi/targetgroup.ts';
import { iscsiTargetToExtent } from '../services/iscsi/targettoextent.ts';
import { cifsShare } from '../sharing/cifs.ts';
import { nfsShare } from '../sharing/nfs.ts';

/**
 * What of a change lies outside of what is below a dataset, as a sentence. The change is judged by its effect: the steps
 * on the machine and the records before and after, not by what the request names, which can be an id, an alias, or
 * nothing where Holdfast completes it. Everything that is not known to be inside is outside.
 */
export function outsideOf(dataset: string, { changes, steps, ...world }: Effect): string | undefined {
  const scope = { below: `${dataset}/`, world };
  return (
    steps.map((step) => stepOutside(step, scope)).find((problem) => problem !== undefined) ??
    changes.map((change) => changeOutside(change, scope)).find((problem) => problem !== undefined)
  );
}

interface Confines {
  readonly below: string;
  readonly world: World;
}

/**
 * Steps that belong to another one: those of shares work on the path of the record, which is checked with the record, and
 * a key is held and forgotten for a dataset that is created or destroyed.
 */
const belonging = ['make folder', 'set permissions', 'hold key', 'forget key'];

function stepOutside({ nature, kind, of, title, touches }: Step, { below, world }: Confines): string | undefined {
  if (nature === 'check' || belonging.includes(kind)) return undefined;
  const outside = `it may not ${title}.`;
  if (kind === 'destroy dataset' && of['with'] === 'clones') {
    // What was cloned from its snapshots goes too, wherever it is.
    const all = [...world.facts.storage.datasets.values()];
    const escaped = all.find(({ name, origin }) => origin?.startsWith(below) === true && !name.startsWith(below));
    return of['name']?.startsWith(below) === true && escaped === undefined ? undefined : outside;
  }
  // What the bin keeps lies outside, and comes back to where its entry says, which is checked with the entry.
  if (kind === 'make bin') return undefined;
  if (kind === 'move to bin') return of['name']?.startsWith(below) === true ? undefined : outside;
  if (kind === 'restore from bin') return of['to']?.startsWith(below) === true ? undefined : outside;
  const isInside =
    touches.length > 0 &&
    touches.every((one) => typeof one === 'object' && 'dataset' in one && one.dataset.startsWith(below));
  return isInside ? undefined : outside;
}

function changeOutside(change: RecordChange, confines: Confines): string | undefined {
  const { resource, id, before } = change;
  // An entry has what the same change removes. One that goes is restored with its records, which are checked too.
  if (resource.path === binEntry.path && (before === undefined || isKeptInside(before, confines))) return undefined;
  const records = [change.before, change.after].filter((record) => record !== undefined);
  return records.every((record) => isInside(resource, record, confines))
    ? undefined
    : `the record ${id} of ${resource.path} is not only about what is below it.`;
}

function isInside(resource: Kept, record: RecordOf<Fields>, confines: Confines): boolean {
  const values: Readonly<Record<string, unknown>> = record;
  switch (resource.path) {
    case cifsShare.path:
      // The share of a home is a folder named after the account, which could be a link.
      return values['cifs_home'] === false && sharesDatasets(resource, record, confines);
    case nfsShare.path:
      return sharesDatasets(resource, record, confines);
    case iscsiExtent.path:
      return isZvolInside(record.id, values, confines);
    case iscsiTarget.path:
      return hasOnlyInside(record.id, confines);
    case iscsiTargetGroup.path:
      return hasOnlyInside(Number(values['iscsi_target']), confines);
    case iscsiTargetToExtent.path:
      return (
        isExtentInside(Number(values['iscsi_extent']), confines) &&
        hasOnlyInside(Number(values['iscsi_target']), confines)
      );
    default:
      return false;
  }
}

/**
 * A share must be of whole datasets. A client that can write to a folder can replace a folder in it by a link that leads
 * elsewhere; a mount point cannot be replaced while it is mounted, and neither can those above it.
 */
function sharesDatasets(resource: Kept, record: RecordOf<Fields>, { below, world }: Confines): boolean {
  const locations = locationsOf(resource, record, world.view);
  const mounted = new Set(
    [...world.facts.storage.datasets.values()]
      .filter(({ name, mountpoint }) => name.startsWith(below) && mountpoint === `/mnt/${name}`)
      .map(({ mountpoint }) => mountpoint),
  );
  return locations.length > 0 && locations.every((location) => 'path' in location && mounted.has(location.path));
}

function isKeptInside(entry: Readonly<Record<string, unknown>>, { below }: Confines): boolean {
  const { dataset } = entry;
  return typeof dataset === 'string' && dataset.startsWith(below);
}

function isZvolInside(id: number, values: Readonly<Record<string, unknown>>, { below }: Confines): boolean {
  const path = values['iscsi_target_extent_path'];
  return (
    id > 0 &&
    values['iscsi_target_extent_type'] === 'ZVOL' &&
    typeof path === 'string' &&
    path.startsWith(`/dev/zvol/${below}`) &&
    !path.split('/').includes('..')
  );
}

function isExtentInside(id: number, { below, world }: Confines): boolean {
  const extent = world.view.get(iscsiExtent, id);
  // An extent that was just removed was checked as a change of its own.
  return extent === undefined || zvolOf(extent)?.startsWith(below) === true;
}

/** Whether a target serves nothing that is outside. */
function hasOnlyInside(target: number, confines: Confines): boolean {
  return confines.world.view
    .having(iscsiTargetToExtent, 'iscsi_target', target)
    .every(({ iscsi_extent }) => isExtentInside(iscsi_extent, confines));
}
