import { hidden, refine, required, secret, text } from '../../engine/declare/fields.ts';
import { collection, type RecordOf } from '../../engine/declare/resource.ts';
import { isNodeName } from '../../engine/pair/pair.ts';
import { quote } from '../../lib/text.ts';

const option = /^([a-z][a-z0-9_]*)=(.*)$/;

/** Options that Holdfast sets itself, because a device that ended another machine than it says would be no fence. */
const ownOptions = /^(action|nodename|port|plug|pcmk_host_.*|password|passwd)$/;

/** What a client sets of a fence device. */
export const fenceFields = {
  node: required(
    refine(text({ description: 'Name of the machine that it ends.', max: 64 }), (value) =>
      isNodeName(value) ? undefined : `Expected the name of a machine of the pair, got ${quote(value)}.`,
    ),
  ),
  agent: required(
    text({
      description: 'The fence agent, such as fence_ipmilan; Debian has each in a package of its own name.',
      max: 64,
      pattern: /^fence_[a-z0-9_]+$/,
      rule: 'Expected the name of a fence agent, such as fence_ipmilan.',
    }),
  ),
  options: refine(
    text({
      description: 'Its options, one name=value in each line, such as ip=192.0.2.21.',
      max: 4096,
      multiline: true,
    }),
    (value) => {
      const lines = value.split('\n').filter((line) => line.trim() !== '');
      const wrong = lines.find((line) => !option.test(line));
      if (wrong !== undefined) return `Expected name=value in each line, got ${quote(wrong)}.`;
      const own = lines.find((line) => ownOptions.test(option.exec(line)?.[1] ?? ''));
      return own === undefined ? undefined : `Expected no option that Holdfast sets itself, got ${quote(own)}.`;
    },
  ),
  outlet: text({
    description: 'What the device calls the machine, such as the number of its outlet; empty for its name.',
    max: 64,
    pattern: /^[\w.:-]*$/,
    rule: 'Expected letters, digits, dots, colons, hyphens and underscores.',
  }),
} as const;

/** What ends a machine of a pair that does not answer. */
export const fenceDevice = collection('holdfast/fence', {
  title: 'fence device',
  description: 'What ends a machine of a pair that does not answer.',
  verbs: [],
  order: ['node', 'agent'],
  fields: {
    ...fenceFields,
    password: hidden(secret(text({ description: 'Its password.', max: 256 }))),
  },
});

export type FenceDevice = RecordOf<typeof fenceDevice.fields>;

/** The options of a device, in their order. */
export function optionsOf({ options }: Pick<FenceDevice, 'options'>): readonly (readonly [string, string])[] {
  return options.split('\n').flatMap((line) => {
    const [, name, value] = option.exec(line) ?? [];
    return name === undefined || value === undefined ? [] : [[name, value] as const];
  });
}
