import { isObject } from '../../lib/json.ts';
import type { Outcome } from '../ports/commands.ts';
import { type DiskHealth, restingDisk } from '../ports/disks.ts';

/**
 * smartctl's exit status is a bit mask: the fourth bit is set when the disk reports a failure, and counts only if the
 * disk could be queried.
 */
export function isFailing(status: number): boolean {
  return (status & 0b111) === 0 && (status & 0b1000) !== 0;
}

/** What `smartctl --nocheck=standby --json` reports of a disk; undefined if the disk cannot be asked. */
export function readHealth(
  name: string,
  { status, stdout }: Pick<Outcome, 'status' | 'stdout'>,
): DiskHealth | undefined {
  const report = parsed(stdout);
  // The lower bits: the command line and the device. The second is also set for a disk that was left to rest.
  if ((status & 0b11) !== 0) return isLeftToRest(report) ? Object.freeze({ ...restingDisk, name }) : undefined;
  const nvme = at(report, 'nvme_smart_health_information_log');
  return Object.freeze({
    name,
    isResting: false,
    failing: isFailing(status),
    temperature: numberAt(report, 'temperature', 'current'),
    hottest: numberAt(report, 'temperature', 'op_limit_max') ?? numberAt(report, 'temperature', 'drive_trip'),
    wear:
      numberAt(report, 'endurance_used', 'current_percent') ??
      numberAt(nvme, 'percentage_used') ??
      numberAt(report, 'scsi_percentage_used_endurance_indicator') ??
      ataWear(report),
    badSectors:
      numberAt(nvme, 'media_errors') ??
      numberAt(report, 'scsi_error_counter_log', 'read', 'total_uncorrected_errors') ??
      Math.max(0, ...['197', '198'].map((id) => numberAt(attributeOf(report, Number(id)), 'raw', 'value') ?? 0)),
    hours: numberAt(report, 'power_on_time', 'hours'),
    testedAt: lastTest(report),
    failedTests:
      numberAt(report, 'ata_smart_self_test_log', 'standard', 'error_count_total') ??
      numberAt(report, 'ata_smart_self_test_log', 'extended', 'error_count_total'),
    loggedErrors: numberAt(report, 'ata_smart_error_log', 'summary', 'count') ?? numberAt(nvme, 'num_err_log_entries'),
    mediaErrors: numberAt(nvme, 'media_errors'),
    spare: numberAt(nvme, 'available_spare'),
  });
}

/** smartctl tells this only by a message: `Device is in STANDBY mode, exit(2)`. */
function isLeftToRest(report: unknown): boolean {
  return listAt(report, 'smartctl', 'messages').some((message) =>
    /^Device is in (?:STANDBY|SLEEP)\b/i.test(String(at(message, 'string'))),
  );
}

/** Attributes whose normalized value falls from 100 as flash wears out. */
const wearAttributes: ReadonlyMap<number, RegExp> = new Map([
  [177, /wear_leveling/i],
  [202, /lifetime/i],
  [231, /life_left|ssd_life/i],
  [233, /wearout/i],
]);

function ataWear(report: unknown): number | undefined {
  for (const [id, known] of wearAttributes) {
    const attribute = attributeOf(report, id);
    const value = numberAt(attribute, 'value');
    if (value !== undefined && value <= 100 && known.test(String(at(attribute, 'name')))) return 100 - value;
  }
  return undefined;
}

function attributeOf(report: unknown, id: number): unknown {
  return listAt(report, 'ata_smart_attributes', 'table').find((one) => numberAt(one, 'id') === id);
}

/** The power-on hours of the newest self-test that ended without an error. */
function lastTest(report: unknown): number | undefined {
  const ata = listAt(report, 'ata_smart_self_test_log', 'standard', 'table').flatMap((test) =>
    at(test, 'status', 'passed') === true ? (numberAt(test, 'lifetime_hours') ?? []) : [],
  );
  const nvme = listAt(report, 'nvme_self_test_log', 'table').flatMap((test) =>
    numberAt(test, 'self_test_result', 'value') === 0 ? (numberAt(test, 'power_on_hours') ?? []) : [],
  );
  const scsi = Array.from({ length: 20 }, (_, index) => at(report, `scsi_self_test_${index}`)).flatMap((test) =>
    numberAt(test, 'result', 'value') === 0 ? (numberAt(test, 'power_on_time', 'hours') ?? []) : [],
  );
  const hours = [...ata, ...nvme, ...scsi];
  return hours.length === 0 ? undefined : Math.max(...hours);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const at = (value: unknown, ...keys: readonly string[]): unknown =>
  keys.reduce<unknown>((inner, key) => (isObject(inner) ? inner[key] : undefined), value);

function numberAt(value: unknown, ...keys: readonly string[]): number | undefined {
  const found = at(value, ...keys);
  return typeof found === 'number' ? found : undefined;
}

function listAt(value: unknown, ...keys: readonly string[]): readonly unknown[] {
  const found = at(value, ...keys);
  return Array.isArray(found) ? found : [];
}
