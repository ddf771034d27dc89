import { invalid } from '../../engine/declare/errors.ts';
import { choice, flag, hidden, nullable, refine, required, text, titled } from '../../engine/declare/fields.ts';
import { collection } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';
import { renewBootLoader, setParameter } from './steps.ts';

/** Names of loader variables of FreeBSD, none of which Linux has as a kernel argument. */
const foreignVariable = /^(compat|dev|hw|kern|kstat|machdep|net|security|vfs|vm)\.|_load$/;

export const tunable = collection('system/tunable', {
  ofNode: true,
  shortName: 'tunable',
  title: 'tunable',
  description: 'A kernel parameter, a boot parameter or an option of a kernel module.',
  order: ['tun_var'],
  problems: (tunables) =>
    tunables
      .filter((one) => isForStart(one) && foreignVariable.test(one.tun_var))
      .map(({ id, tun_var }) => ({
        kind: 'ineffective',
        about: `system/tunable/${id}`,
        severity: 'warning',
        message: `The tunable ${quote(tun_var)} is a loader variable of FreeBSD and has no effect on Linux. Set the parameter of the kernel or of the module, such as zfs.zfs_arc_max, or disable the tunable.`,
        remedy: { method: 'PUT', path: `/api/v1.0/system/tunable/${id}/`, body: { tun_enabled: false } },
      })),
  unique: [{ fields: ['tun_var'], description: 'A tunable with this name already exists.' }],
  fields: {
    tun_var: titled(
      'Variable',
      required(
        text({
          description: 'Name of the parameter.',
          max: 128,
          pattern: /^[A-Za-z][A-Za-z0-9_.]*$/,
          rule: 'Expected a letter, then letters, digits, underscores and dots.',
        }),
      ),
    ),
    tun_value: required(
      refine(text({ description: 'Value of the parameter.', max: 512 }), (value) =>
        /['"]/.test(value) ? 'Expected a value without quotation marks.' : undefined,
      ),
    ),
    tun_type: choice(['loader', 'rc', 'sysctl'], {
      description:
        'Type: loader for the kernel command line, sysctl for a parameter of the running kernel, rc for an option of a module, as module.option.',
      initial: 'loader',
      also: { LOADER: 'loader', RC: 'rc', SYSCTL: 'sysctl' },
    }),
    tun_comment: text({ description: 'Comment.', max: 100 }),
    tun_enabled: flag(true, { description: 'Whether the tunable is applied.' }),
    tun_before: hidden(
      nullable(text({ description: 'Value in the kernel before the tunable was created.', max: 4096 })),
    ),
  },
  async beforehand(sent, operations, before) {
    const { tun_var: name = '', tun_type: type = 'loader' } = { ...before, ...sent };
    if (type !== 'sysctl') return {};
    if (before?.tun_type === 'sysctl' && before.tun_var === name) return {};
    if (!name.includes('.'))
      throw invalid({ tun_var: ['Expected the name of a kernel parameter, with at least one dot.'] });
    const value = await operations.ask(`read the kernel parameter ${name}`, ({ machine }) => machine.parameter(name));
    if (value === undefined)
      throw invalid({ tun_var: [`Kernel parameter ${quote(name)} does not exist on this machine.`] });
    return { tun_before: value.replaceAll(/\s+/g, ' ') };
  },
  check({ record, issues }) {
    if (record.tun_type === 'rc' && !record.tun_var.includes('.')) issues.add('tun_var', 'Expected module.option.');
    // The kernel command line and the options of modules are separated by spaces.
    if (record.tun_type !== 'sysctl' && /[\s\\$`]/.test(record.tun_value))
      issues.add('tun_value', 'Expected a value without spaces, backslashes, dollar signs and backquotes.');
  },
  onSave({ draft, record, before }) {
    const was = before === undefined ? undefined : running(before);
    const is = running(record);
    if (was !== undefined && was.name !== is?.name)
      draft.plan.first(setParameter({ name: was.name, value: was.initial, former: was.value }));
    if (is !== undefined && (was?.name !== is.name || was.value !== is.value))
      draft.plan.first(
        setParameter({ name: is.name, value: is.value, former: was?.name === is.name ? was.value : is.initial }),
      );
    const needed = isForStart(record);
    if (needed || (before !== undefined && isForStart(before))) draft.plan.last(renewBootLoader({ needed }));
  },
  onRemove({ draft, record }) {
    const was = running(record);
    if (was !== undefined) draft.plan.first(setParameter({ name: was.name, value: was.initial, former: was.value }));
    if (isForStart(record)) draft.plan.last(renewBootLoader({ needed: false }));
  },
});

/** The parameter that this record sets in the running kernel, if any. */
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

/** Whether the tunable is on the kernel command line. */
function isForStart({ tun_type, tun_enabled }: { readonly tun_type: string; readonly tun_enabled: boolean }): boolean {
  return tun_type === 'loader' && tun_enabled;
}
