import { advanced, basic, choice, flag, readOnly, text, titled } from '../../engine/declare/fields.ts';
import { collection, type Plan, type RecordOf, type View } from '../../engine/declare/resource.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import type { Ability, Disk, Tuning } from '../../host/ports/disks.ts';
import { words } from '../../lib/text.ts';
import { tuneDisk } from './device-steps.ts';

const standbys = ['Always On', '5', '10', '20', '30', '60', '120', '180', '240', '300', '330'] as const;
const powerLevels = ['Disabled', '1', '64', '127', '128', '192', '254'] as const;
const acousticLevels = { Disabled: 0, Minimum: 128, Medium: 192, Maximum: 254 } as const;

/** The settings of a disk. */
export const diskSettings = {
  disk_description: text({ description: 'Description of the disk.', max: 120 }),
  ...advanced('Power', {
    disk_hddstandby: titled(
      'Standby timer',
      choice(standbys, {
        description: 'Minutes of idle time after which the disk spins down.',
        initial: 'Always On',
      }),
    ),
    disk_advpowermgmt: titled(
      'Power level',
      choice(powerLevels, {
        description: 'Advanced power management level: 1 saves the most power, 254 the least.',
        initial: 'Disabled',
      }),
    ),
    disk_acousticlevel: titled(
      'Noise level',
      choice(['Disabled', 'Minimum', 'Medium', 'Maximum'], {
        description: 'Acoustic management level: Minimum is the quietest, Maximum the fastest.',
        initial: 'Disabled',
      }),
    ),
  }),
  ...basic('SMART', {
    disk_togglesmart: titled('Watch by SMART', flag(true, { description: 'Whether SMART monitoring is enabled.' })),
  }),
  ...advanced('SMART', {
    disk_smartoptions: titled(
      'SMART options',
      text({
        description: 'Additional arguments for smartctl and smartd, such as -d sat.',
        max: 120,
        pattern: /^[\w ,.:/=+-]+$/,
        rule: 'Arguments may contain letters, digits, spaces and , . : / = + - _ only.',
      }),
    ),
  }),
};

/** The disks whose settings were changed from the defaults. The resource has no path in the API. */
export const diskRecord = collection('holdfast/disks', {
  ofNode: true,
  title: 'disk',
  description: 'Settings of disks.',
  verbs: [],
  order: ['disk_identifier'],
  fields: {
    disk_identifier: readOnly(text({ description: 'Identifier of the disk that stays the same on every port.' })),
    ...diskSettings,
  },
  check({ record, before = defaultSettings, facts, issues }) {
    const disk = diskOf(record, facts);
    if (disk === undefined) return;
    for (const [name, ability, lacks] of needs)
      if (record[name] !== before[name] && !disk.can.includes(ability))
        issues.add(name, `The disk ${disk.name} ${lacks}, so this setting has no effect.`);
  },
  onSave({ draft, record, before = defaultSettings, facts }) {
    planTuning(draft.plan, diskOf(record, facts), before, record);
  },
  onRemove({ draft, record, facts }) {
    planTuning(draft.plan, diskOf(record, facts), record, defaultSettings);
  },
});

/** The attached disk that the record describes. */
function diskOf({ disk_identifier }: { readonly disk_identifier: string }, { disks }: Facts): Disk | undefined {
  return disks.find((disk) => identifierOf(disk) === disk_identifier);
}

/**
 * Plans the step that applies changed settings to the disk. A disk that is not attached gets its settings when it
 * appears.
 */
function planTuning(plan: Plan, disk: Disk | undefined, before: DiskSettings, after: DiskSettings): void {
  if (disk === undefined) return;
  const differs = (name: keyof DiskSettings) => after[name] !== before[name];
  const tuning = tuningOf(disk, after, differs);
  if (Object.keys(tuning).length === 0) return;
  plan.first(tuneDisk({ disk: disk.name, tuning, former: JSON.stringify(tuningOf(disk, before, differs)) }));
}

export type DiskSettings = Omit<RecordOf<typeof diskSettings>, 'id'>;

const defaultSettings: DiskSettings = {
  disk_description: '',
  disk_hddstandby: 'Always On',
  disk_advpowermgmt: 'Disabled',
  disk_acousticlevel: 'Disabled',
  disk_togglesmart: true,
  disk_smartoptions: '',
};

export function settingsFor(disk: Disk, view: View): DiskSettings {
  return view.find(diskRecord, 'disk_identifier', identifierOf(disk)) ?? defaultSettings;
}

/** Serial and LUN id, else the serial alone, else the device name (gaps 13.2). */
export function identifierOf({ name, serial, lunid }: Disk): string {
  if (serial !== '' && lunid !== '') return `{serial_lunid}${serial}_${lunid}`;
  return serial === '' ? `{devicename}${name}` : `{serial}${serial}`;
}

/** The attached disk with this identifier or device name. */
export function diskNamed(name: string, disks: readonly Disk[]): Disk | undefined {
  return disks.find((disk) => identifierOf(disk) === name) ?? disks.find((disk) => disk.name === name);
}

/** The ability that each setting requires, and the text for a disk that lacks it. */
export const needs: readonly (readonly [name: keyof DiskSettings, ability: Ability, lacks: string])[] = [
  ['disk_hddstandby', 'standby', 'has no standby timer'],
  ['disk_advpowermgmt', 'power', 'has no advanced power management'],
  ['disk_acousticlevel', 'acoustics', 'has no acoustic management'],
  ['disk_smartoptions', 'smart', 'does not support SMART'],
];

/** The part of the settings to apply to the disk: those that `named` selects and that the disk supports. */
export function tuningOf({ can }: Disk, settings: DiskSettings, named: (name: keyof DiskSettings) => boolean): Tuning {
  const applies = (ability: Ability, ...names: readonly (keyof DiskSettings)[]) =>
    can.includes(ability) && names.some(named);
  return {
    ...(applies('standby', 'disk_hddstandby')
      ? { standby: settings.disk_hddstandby === 'Always On' ? 0 : Number(settings.disk_hddstandby) }
      : {}),
    ...(applies('power', 'disk_advpowermgmt')
      ? { power: settings.disk_advpowermgmt === 'Disabled' ? 255 : Number(settings.disk_advpowermgmt) }
      : {}),
    ...(applies('acoustics', 'disk_acousticlevel') ? { acoustics: acousticLevels[settings.disk_acousticlevel] } : {}),
    ...(applies('smart', 'disk_togglesmart', 'disk_smartoptions')
      ? { smart: { on: settings.disk_togglesmart, options: words(settings.disk_smartoptions) } }
      : {}),
  };
}
