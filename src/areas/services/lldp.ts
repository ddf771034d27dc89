import { flag, refine, text } from '../../engine/declare/fields.ts';
import { singleton } from '../../engine/declare/resource.ts';

export const lldpSettings = singleton('services/lldp', {
  title: 'LLDP settings',
  description: 'What the machine tells its neighbours on the wire, and keeps of what they tell.',
  fields: {
    lldp_intdesc: flag(true, { description: 'Whether an interface is described by the neighbour it is connected to.' }),
    lldp_country: text({
      description: 'Country the machine is in, as two letters of ISO 3166.',
      max: 2,
      pattern: /^[A-Za-z]{2}$/,
      rule: 'Two letters are wanted.',
    }),
    lldp_location: refine(text({ description: 'Where in the country it is.', max: 200 }), (value) => {
      if (Buffer.byteLength(value) > 250) return 'LLDP takes 250 bytes of it; letters beyond ASCII have several.';
      // lldpd's commands know both kinds of quotes, but no way to write one kind within itself.
      return value.includes('"') && value.includes("'")
        ? 'Double and single quotes do not go together here.'
        : undefined;
    }),
  },
});
