import { choice, flag, readOnly, text } from '../../engine/declare/fields.ts';
import { collection, type Plan, type RecordOf, type View } from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/upkeep/facts.ts';
import type { Ability, Disk, Tuning } from '../../host/ports/disks.ts';
import { words } from '../../lib/text.ts';

const standbys = ['Always On', '5', '10', '20', '30', '60', '120', '180', '240', '300', '330'] as const;
const powerLevels = ['Disabled', '1', '64', '127', '128', '192', '254'] as const;
const acousticLevels = { Disabled: 0, Minimum: 128, Medium: 192, Maximum: 254 } as const;

/** What people decide about a disk. */
export const diskSettings = {
  disk_description: text({ description: 'What people say of it.', max: 120 }),
  disk_hddstandby: choice(standbys, {
    description: 'Minutes without use after which the disk stands still.',
    initial: 'Always On',
  }),
  disk_advpowermgmt: choice(powerLevels, {
    description: 'Level of advanced power management: 1 saves most, 254 least.',
    initial: 'Disabled',
  }),
  disk_acousticlevel: choice(['Disabled', 'Minimum', 'Medium', 'Maximum'], {
    description: 'How loud, and fast, the disk may be.',
    initial: 'Disabled',
  }),
  disk_togglesmart: flag(true, { description: 'Whether the disk watches itself by SMART.' }),
  disk_smartoptions: text({
    description: 'Further arguments for the programs of SMART, as -d sat.',
    max: 120,
    pattern: /^[\w ,.:/=+-]+$/,
    rule: 'Arguments have letters, digits, blanks and , . : / = + - _ only.',
  }),
};

/** The disks that people have decided something about. It has no address of its own. */
export const diskRecord = collection('holdfast/disks', {
  title: 'disk',
  description: 'What was decided about disks.',
  verbs: [],
  order: ['disk_identifier'],
  fields: {
    disk_identifier: readOnly(text({ description: 'What names the disk wherever it is plugged in.' })),
    ...diskSettings,
  },
  check({ record, before = undecided, facts, issues }) {
    const disk = diskOf(record, facts);
    if (disk === undefined) return;
    for (const [name, ability, lacks] of needs)
      if (record[name] !== before[name] && !disk.can.includes(ability))
        issues.add(name, `The disk ${disk.name} ${lacks}, so this would change nothing.`);
  },
  onSave({ draft, record, before = undecided, facts }) {
    tell(draft.plan, diskOf(record, facts), before, record);
  },
  onRemove({ draft, record, facts }) {
    tell(draft.plan, diskOf(record, facts), record, undecided);
  },
});

/** The disk that the record is about, where it is plugged in. */
function diskOf({ disk_identifier }: { readonly disk_identifier: string }, { disks }: Facts): Disk | undefined {
  return disks.find((disk) => identifierOf(disk) === disk_identifier);
}

/** Tells a disk what is decided otherwise about it. One that is not there is told when it appears. */
function tell(plan: Plan, disk: Disk | undefined, before: DiskSettings, after: DiskSettings): void {
  if (disk === undefined) return;
  const differs = (name: keyof DiskSettings) => after[name] !== before[name];
  const tuning = tuningOf(disk, after, differs);
  if (Object.keys(tuning).length === 0) return;
  plan.first({
    title: `tell the disk ${disk.name} its settings`,
    perform: ({ disks }) => disks.tune(disk.name, tuning),
    // To tell a disk what it does already is no fault, so there is no need to look.
    left: async () => true,
    undo: ({ disks }) => disks.tune(disk.name, tuningOf(disk, before, differs)),
  });
}

export type DiskSettings = Omit<RecordOf<typeof diskSettings>, 'id'>;

const undecided: DiskSettings = {
  disk_description: '',
  disk_hddstandby: 'Always On',
  disk_advpowermgmt: 'Disabled',
  disk_acousticlevel: 'Disabled',
  disk_togglesmart: true,
  disk_smartoptions: '',
};

export function settingsFor(disk: Disk, view: View): DiskSettings {
  return view.find(diskRecord, 'disk_identifier', identifierOf(disk)) ?? undecided;
}

/** The first of these that applies (gaps 13.2). */
export function identifierOf({ name, serial, lunid }: Disk): string {
  if (serial !== '' && lunid !== '') return `{serial_lunid}${serial}_${lunid}`;
  return serial === '' ? `{devicename}${name}` : `{serial}${serial}`;
}

/** The settings that a disk must be able to follow, and what it lacks when it cannot. */
export const needs: readonly (readonly [name: keyof DiskSettings, ability: Ability, lacks: string])[] = [
  ['disk_hddstandby', 'standby', 'has no standby timer'],
  ['disk_advpowermgmt', 'power', 'has no advanced power management'],
  ['disk_acousticlevel', 'acoustics', 'has no acoustic management'],
  ['disk_smartoptions', 'smart', 'knows no SMART'],
];

/** What of the settings the disk has to be told: all that `named` names and it can follow. */
export function tuningOf({ can }: Disk, settings: DiskSettings, named: (name: keyof DiskSettings) => boolean): Tuning {
  const tells = (ability: Ability, ...names: readonly (keyof DiskSettings)[]) =>
    can.includes(ability) && names.some(named);
  return {
    ...(tells('standby', 'disk_hddstandby')
      ? { standby: settings.disk_hddstandby === 'Always On' ? 0 : Number(settings.disk_hddstandby) }
      : {}),
    ...(tells('power', 'disk_advpowermgmt')
      ? { power: settings.disk_advpowermgmt === 'Disabled' ? 255 : Number(settings.disk_advpowermgmt) }
      : {}),
    ...(tells('acoustics', 'disk_acousticlevel') ? { acoustics: acousticLevels[settings.disk_acousticlevel] } : {}),
    ...(tells('smart', 'disk_togglesmart', 'disk_smartoptions')
      ? { smart: { on: settings.disk_togglesmart, options: words(settings.disk_smartoptions) } }
      : {}),
  };
}
