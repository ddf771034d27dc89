import type { lldpSettings } from '../../areas/services/lldp.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { lines } from '../../lib/text.ts';

type Settings = RecordOf<typeof lldpSettings.fields>;

/** A user-assigned code of ISO 3166, for a location without a country: an LLDP address requires a country code. */
const unknownCountry = 'ZZ';

/** `/etc/lldpd.d/holdfast.conf`: lldpcli commands that lldpd executes when it starts. */
export function lldpdConf({ lldp_country, lldp_location, lldp_intdesc }: Settings): string {
  const location = lldp_location === '' ? '' : ` additional ${quoted(lldp_location)}`;
  return lines(
    '# Written by Holdfast.',
    lldp_intdesc ? 'configure system interface description' : undefined,
    lldp_country === '' && location === ''
      ? undefined
      : `configure med location address country ${lldp_country.toUpperCase() || unknownCountry}${location}`,
  );
}

/** Uses the kind of quotes that the text does not contain; the field refuses a text with both. */
function quoted(text: string): string {
  const mark = text.includes('"') ? "'" : '"';
  return `${mark}${text}${mark}`;
}

/** `/etc/default/lldpd`. An LLDP-MED device of class 4 (network connectivity) sends its location unsolicited. */
export const lldpdDefaults: string = lines('# Written by Holdfast.', 'DAEMON_ARGS="-M 4"');
