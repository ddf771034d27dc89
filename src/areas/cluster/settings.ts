import { refine, text } from '../../engine/declare/fields.ts';
import { collection, type View } from '../../engine/declare/resource.ts';
import { isNodeName } from '../../engine/pair/pair.ts';
import { isLinkLocal, parseNetwork } from '../../lib/ip.ts';
import { quote } from '../../lib/text.ts';

export const clusterFields = {
  name: refine(
    text({ description: 'The name of the pair, which its address has in DNS; empty without one.', max: 64 }),
    (value) =>
      value === '' || isNodeName(value)
        ? undefined
        : `Expected letters, digits, dots and hyphens, got ${quote(value)}.`,
  ),
  address: refine(
    text({
      description:
        'The address that moves with the pool, with its prefix length, such as 192.0.2.10/24 or 2001:db8::10/64; empty without one.',
      max: 49,
    }),
    (value) => {
      if (value === '') return undefined;
      const network = parseNetwork(value);
      if (network === undefined)
        return `Expected an address with a prefix length, such as 192.0.2.10/24 or 2001:db8::10/64, got ${quote(value)}.`;
      return isLinkLocal(network)
        ? `Expected an address that is not link-local, because clients of other networks cannot reach such an address, got ${quote(value)}.`
        : undefined;
    },
  ),
} as const;

/** The settings of the pair: one record, or none while nothing is set. */
export const clusterSettings = collection('holdfast/cluster', {
  title: 'settings of the pair',
  description: 'Name and address of a pair of machines.',
  verbs: [],
  fields: clusterFields,
});

export function clusterSettingsOf(view: View): { readonly name: string; readonly address: string } {
  return view.all(clusterSettings)[0] ?? { name: '', address: '' };
}
