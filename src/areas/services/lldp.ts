import { flag, refine, text, titled } from '../../engine/declare/fields.ts';
import { singleton } from '../../engine/declare/resource.ts';
import { service } from './service.ts';

export const lldpSettings = singleton('services/lldp', {
  shortName: 'service/lldp',
  title: 'LLDP settings',
  description:
    'What the machine announces to its network neighbours by LLDP, and what it stores of their announcements.',
  fields: {
    lldp_intdesc: titled(
      'Descriptions of interfaces',
      flag(true, {
        description: 'Whether the description of each network interface names the neighbour that it is connected to.',
      }),
    ),
    lldp_country: text({
      description: 'Country of the machine: two letters of ISO 3166.',
      max: 2,
      pattern: /^[A-Za-z]{2}$/,
      rule: 'Expected two letters, as US.',
    }),
    lldp_location: refine(text({ description: 'Location of the machine.', max: 200 }), (value) => {
      if (Buffer.byteLength(value) > 250) return 'Expected at most 250 bytes in UTF-8.';
      if (value.includes('\\')) return 'Expected a text without a backslash: lldpd drops it.';
      // The commands of lldpd accept both kinds of quotes but have no escape for a quote within quotes.
      return value.includes('"') && value.includes("'")
        ? 'Expected double quotes or single quotes, not both.'
        : undefined;
    }),
  },
});

export const lldpService = service('lldp', { settings: lldpSettings, programs: ['lldpd'] });
