import type { FormField } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { exactly } from '../base/format.ts';
import { type Row, textIn } from '../base/json.ts';
import { useLive } from '../base/live.ts';
import * as t from '../texts/parts/form.ts';
import { Field } from './fields.tsx';
import { type Group, groupsOf, scheduleIn } from './values.ts';

interface FormProps {
  readonly fields: readonly FormField[];
  readonly values: Row;
  readonly problems: Readonly<Record<string, readonly string[]>>;
  readonly isNew: boolean;
  set(wire: string, value: unknown): void;
}

/** The fields under their headings: the basic ones, then the advanced ones, which are opened when one of them is wrong. */
export function Fields({ fields, problems, ...rest }: FormProps) {
  const basic = fields.filter(({ rank }) => rank === 'basic');
  const advanced = fields.filter(({ rank }) => rank !== 'basic');
  const groups = groupsOf(basic);
  const further = groupsOf(advanced);
  const isWrong = advanced.some(({ wire }) => problems[wire] !== undefined);
  return (
    <>
      {groups.map((group) => (
        <GroupOfFields key={group.title} {...{ group, problems, ...rest }} isOnly={groups.length === 1} />
      ))}
      {advanced.length > 0 && (
        <details open={isWrong || basic.length === 0}>
          <summary>{t.more(further.map(({ title }) => title.toLowerCase()).join(', '), advanced.length)}</summary>
          {further.map((group) => (
            <GroupOfFields key={group.title} {...{ group, problems, ...rest }} isOnly={false} />
          ))}
        </details>
      )}
    </>
  );
}

function GroupOfFields({
  group,
  isOnly,
  values,
  problems,
  isNew,
  set,
}: Omit<FormProps, 'fields'> & { group: Group; isOnly: boolean }) {
  return (
    <fieldset class="group">
      <legend class={isOnly ? 'unseen' : ''}>{group.title}</legend>
      {group.fields.map((field) => (
        <Field
          key={field.wire}
          {...{ field, isNew }}
          value={values[field.wire]}
          problems={problems[field.wire] ?? []}
          set={(value) => set(field.wire, value)}
        />
      ))}
      <NextRuns fields={group.fields} values={values} />
    </fieldset>
  );
}

/** When a schedule runs next, by the clock of the appliance. */
function NextRuns({ fields, values }: { fields: readonly FormField[]; values: Row }) {
  const names = scheduleIn(fields);
  if (names === undefined) return null;
  const query = {
    minute: textIn(values[names.minute]) || '*',
    hour: textIn(values[names.hour]) || '*',
    daymonth: textIn(values[names.daymonth]) || '*',
    month: textIn(values[names.month]) || '*',
    dayweek: textIn(values[names.dayweek]) || '*',
  };
  return <Runs key={Object.values(query).join(' ')} query={query} />;
}

function Runs({
  query,
}: {
  query: { minute: string; hour: string; daymonth: string; month: string; dayweek: string };
}) {
  const preview = useLive(JSON.stringify(query), [], () => client.get('/api/holdfast/v1/schedules/preview', { query }));
  if (preview.refused !== undefined) return <p class="err">{preview.refused}</p>;
  if (preview.value === undefined) return <p class="help">{t.askingForTheNextRuns}</p>;
  return (
    <div class="runs" role="status">
      <p class="what">{t.nextRuns(preview.value.zone)}</p>
      <ul>
        {preview.value.runs.map((at) => (
          <li key={at}>{exactly(at)}</li>
        ))}
      </ul>
    </div>
  );
}
