/** Parts of forms that are made by hand from the described fields. */
import { useSignal } from '@preact/signals';
import type { FormField } from '../base/catalogue.ts';
import type { Row } from '../base/json.ts';
import { Field } from './fields.tsx';
import type { Problems } from './request-form.tsx';

interface SomeFieldsProps {
  readonly fields: readonly FormField[];
  readonly wires: readonly string[];
  readonly values: Row;
  readonly problems: Problems;
  set(wire: string, value: unknown): void;
}

/** Some fields of a form, in the order of `wires`. */
export function SomeFields({ fields, wires, values, problems, set }: SomeFieldsProps) {
  return (
    <>
      {wires.map((wire) => {
        const field = fields.find((one) => one.wire === wire);
        if (field === undefined) return null;
        return (
          <Field
            key={wire}
            {...{ field }}
            value={values[wire]}
            problems={problems[wire] ?? []}
            isNew={true}
            set={(value) => set(wire, value)}
          />
        );
      })}
    </>
  );
}

/** The values of a form that is filled in: those that were given, over those with which the form begins. */
export function useDraft(first: Row) {
  const changes = useSignal<Row>(first);
  return {
    body: changes.value,
    set: (wire: string, value: unknown) => {
      const { [wire]: _, ...others } = changes.value;
      changes.value = value === undefined || value === '' ? others : { ...others, [wire]: value };
    },
  };
}
