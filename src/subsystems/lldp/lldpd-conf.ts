import type { lldpSettings } from '../../areas/services/lldp.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { lines } from '../../lib/text.ts';

type Settings = RecordOf<typeof lldpSettings.fields>;

/** The code that ISO 3166 leaves to users, for a place whose country is not told: LLDP's addresses begin with one. */
const unknownCountry = 'ZZ';

/** `/etc/lldpd.d/holdfast.conf`: commands of lldpcli, which lldpd carries out when it starts. */
export function lldpdConf({ lldp_country, lldp_location, lldp_intdesc }: Settings): string {
  const place = lldp_location === '' ? '' : ` additional ${quoted(lldp_location)}`;
  return lines(
    '# Written by Holdfast.',
    lldp_intdesc ? 'configure system interface description' : undefined,
    lldp_country === '' && place === ''
      ? undefined
      : `configure med location address country ${lldp_country.toUpperCase() || unknownCountry}${place}`,
  );
}

/** Of the two kinds of quotes the one that is not in the text; the field takes no text with both. */
function quoted(text: string): string {
  const mark = text.includes('"') ? "'" : '"';
  return `${mark}${text}${mark}`;
}

/** `/etc/default/lldpd`. As a device of class 4, which networks consist of, it tells places without being asked. */
export const lldpdDefaults: string = lines('# Written by Holdfast.', 'DAEMON_ARGS="-M 4"');
