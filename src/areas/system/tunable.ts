import { invalid } from '../../engine/declare/errors.ts';
import { choice, flag, hidden, nullable, refine, required, text } from '../../engine/declare/fields.ts';
import { collection, type Draft } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';

export const tunable = collection('system/tunable', {
  title: 'tunable',
  description: 'A setting of the kernel or of its start.',
  order: ['tun_var'],
  unique: [{ fields: ['tun_var'], description: 'A tunable of this name is there already.' }],
  fields: {
    tun_var: required(
      text({
        description: 'Name of the setting.',
        max: 128,
        pattern: /^[A-Za-z][A-Za-z0-9_.]*$/,
        rule: 'A name begins with a letter; letters, digits, underscores and dots may follow.',
      }),
    ),
    tun_value: required(
      refine(text({ description: 'Its value.', max: 512 }), (value) =>
        /['"]/.test(value) ? 'A value has no quotation marks.' : undefined,
      ),
    ),
    tun_type: choice(['loader', 'rc', 'sysctl'], {
      description:
        'Where it belongs: loader on the kernel command line, sysctl to the running kernel, rc to a module, as module.option.',
      initial: 'loader',
      also: { LOADER: 'loader', RC: 'rc', SYSCTL: 'sysctl' },
    }),
    tun_comment: text({ description: 'What it is for.', max: 100 }),
    tun_enabled: flag(true, { description: 'Whether it holds.' }),
    tun_before: hidden(nullable(text({ description: 'What the kernel had for it before.', max: 4096 }))),
  },
  async beforehand(sent, operations, before) {
    const { tun_var: name = '', tun_type: type = 'loader' } = { ...before, ...sent };
    if (type !== 'sysctl') return {};
    if (before?.tun_type === 'sysctl' && before.tun_var === name) return {};
    if (!name.includes('.'))
      throw invalid({ tun_var: ['A parameter of the kernel has at least one dot in its name.'] });
    const found: (string | undefined)[] = [];
    await operations.perform({
      title: `ask the kernel for ${name}`,
      async perform({ machine }) {
        found.push(await machine.parameter(name));
      },
    });
    const [value] = found;
    if (value === undefined)
      throw invalid({ tun_var: [`The kernel of this machine has no parameter ${quote(name)}.`] });
    return { tun_before: value.replaceAll(/\s+/g, ' ') };
  },
  check({ record, issues }) {
    if (record.tun_type === 'rc' && !record.tun_var.includes('.'))
      issues.add('tun_var', 'An option of a module is named as module.option.');
    // The command line and the options of modules are words separated by blanks.
    if (record.tun_type !== 'sysctl' && /[\s\\$`]/.test(record.tun_value))
      issues.add(
        'tun_value',
        'A value on the kernel command line or of a module has no blanks, backslashes, dollar signs or backquotes.',
      );
  },
  onSave({ draft, record, before }) {
    const was = before === undefined ? undefined : running(before);
    const is = running(record);
    if (was !== undefined && was.name !== is?.name) tell(draft, was.name, was.initial, was.value);
    if (is !== undefined && (was?.name !== is.name || was.value !== is.value))
      tell(draft, is.name, is.value, was?.name === is.name ? was.value : is.initial);
    const wanted = isForStart(record);
    if (wanted || (before !== undefined && isForStart(before))) renewBootLoader(draft, wanted);
  },
  onRemove({ draft, record }) {
    const was = running(record);
    if (was !== undefined) tell(draft, was.name, was.initial, was.value);
    if (isForStart(record)) renewBootLoader(draft, false);
  },
});

/** What the running kernel is told for this record, if anything. */
function running(record: {
  readonly tun_var: string;
  readonly tun_value: string;
  readonly tun_type: string;
  readonly tun_enabled: boolean;
  readonly tun_before: string | null;
}) {
  const { tun_var: name, tun_value: value, tun_type, tun_enabled, tun_before } = record;
  return tun_type === 'sysctl' && tun_enabled && tun_before !== null ? { name, value, initial: tun_before } : undefined;
}

function tell(draft: Draft, name: string, value: string, before: string): void {
  draft.plan.first({
    title: `set ${name} to ${value}`,
    perform: ({ machine }) => machine.setParameter(name, value),
    undo: ({ machine }) => machine.setParameter(name, before),
    left: async ({ machine }) => (await machine.parameter(name)) !== before,
  });
}

/** Whether it is on the command line of the kernel. */
function isForStart({ tun_type, tun_enabled }: { readonly tun_type: string; readonly tun_enabled: boolean }): boolean {
  return tun_type === 'loader' && tun_enabled;
}

/** The file it reads is written by then. */
function renewBootLoader(draft: Draft, needed: boolean): void {
  draft.plan.last({
    title: 'let the boot loader read its settings',
    perform: ({ machine }) => machine.renewBootLoader({ needed }),
  });
}
