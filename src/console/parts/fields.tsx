import { useSignal } from '@preact/signals';
import type { FormField } from '../base/catalogue.ts';
import { isSame, listIn, numberIn, rowIn, textIn } from '../base/json.ts';
import * as t from '../texts/parts/fields.ts';
import { useChoices } from './choices.ts';
import { PathChoice } from './path-choice.tsx';
import { type Asking, askingOf, plainSchema, textOf, valueIn } from './values.ts';

interface FieldProps {
  readonly field: FormField;
  readonly value: unknown;
  readonly problems: readonly string[];
  readonly isNew: boolean;
  set(value: unknown): void;
}

interface InputProps extends FieldProps {
  readonly id: string;
  readonly describedBy: string;
}

/** One field with its label, its help, and what is wrong with it. */
export function Field(props: FieldProps) {
  const { field, problems } = props;
  const id = `field-${field.wire}`;
  const asking = askingOf(field);
  const isCheck = asking.as === 'check';
  const isGroup = asking.as === 'several' || asking.as === 'records';
  const label = (
    <>
      {field.title}
      {field.required && <span class="soft">{t.required}</span>}
    </>
  );
  const about = (
    <>
      {problems.map((one) => (
        <p key={one} class="err" id={`${id}-problem`}>
          {one}
        </p>
      ))}
      <p class="help" id={`${id}-help`}>
        {field.description}
      </p>
    </>
  );
  const input = (
    <Input
      {...props}
      id={id}
      asking={asking}
      describedBy={`${problems.length > 0 ? `${id}-problem ` : ''}${id}-help`}
    />
  );
  if (isGroup)
    return (
      <fieldset class="field plain" id={id}>
        <legend>{label}</legend>
        {input}
        {about}
      </fieldset>
    );
  return (
    <div class={`field ${isCheck ? 'check' : ''}`}>
      {isCheck && input}
      <label for={id}>{label}</label>
      {!isCheck && input}
      {about}
    </div>
  );
}

function Input({ asking, ...props }: InputProps & { asking: Asking }) {
  switch (asking.as) {
    case 'check':
      return <Check {...props} />;
    case 'choice':
      return <Select {...props} values={asking.values} />;
    case 'several':
      return <Several {...props} options={asking.values.map((one) => ({ value: one, title: textIn(one) }))} />;
    case 'record':
      return <RecordChoice {...props} />;
    case 'records':
      return <RecordChoices {...props} />;
    case 'lines':
      return <Lines {...props} />;
    case 'json':
      return <Json {...props} />;
    case 'secret':
      return <Secret {...props} />;
    case 'text':
      return <Text {...props} isLong={asking.isLong} suggests={asking.suggests} />;
  }
}

const states = ({ id, describedBy, problems, field }: InputProps) => ({
  id,
  'aria-describedby': describedBy,
  'aria-invalid': problems.length > 0,
  'aria-required': field.required,
  class: problems.length > 0 ? 'wrong' : '',
});

function Check(props: InputProps) {
  return (
    <input
      {...states(props)}
      type="checkbox"
      checked={props.value === true}
      onChange={(event) => props.set(event.currentTarget.checked)}
    />
  );
}

function Select({ values, ...props }: InputProps & { values: readonly unknown[] }) {
  const { isNullable } = plainSchema(rowIn(props.field.schema));
  const chosen = values.findIndex((one) => isSame(one, props.value));
  return (
    <select
      {...states(props)}
      value={chosen === -1 ? '' : String(chosen)}
      onChange={({ currentTarget: { value } }) => props.set(value === '' ? null : values[Number(value)])}
    >
      {(isNullable || chosen === -1) && <option value="">{isNullable ? t.none : t.choose}</option>}
      {values.map((one, index) => (
        <option key={String(one)} value={String(index)}>
          {textIn(one) || t.empty}
        </option>
      ))}
    </select>
  );
}

interface Option {
  readonly value: unknown;
  readonly title: string;
}

function Several({ options, value, set, describedBy }: InputProps & { options: readonly Option[] }) {
  const chosen = listIn(value);
  if (options.length === 0) return <p class="soft">{t.thereIsNothingToChooseFrom}</p>;
  return (
    <div class="several">
      {options.map((one) => (
        <label key={one.title} class="inline">
          <input
            type="checkbox"
            aria-describedby={describedBy}
            checked={chosen.some((other) => isSame(other, one.value))}
            onChange={(event) =>
              set(
                event.currentTarget.checked
                  ? [...chosen, one.value]
                  : chosen.filter((other) => !isSame(other, one.value)),
              )
            }
          />
          {one.title}
        </label>
      ))}
    </div>
  );
}

function RecordChoice(props: InputProps) {
  const { field, value, set } = props;
  const { isNullable } = plainSchema(rowIn(field.schema));
  const choices = useChoices(field.refers_to ?? undefined);
  const text = textIn(value);
  const isKnown = choices.some(({ id }) => id === text);
  return (
    <select
      {...states(props)}
      value={text}
      onChange={({ currentTarget }) => set(currentTarget.value === '' ? null : Number(currentTarget.value))}
    >
      {(isNullable || text === '') && <option value="">{isNullable ? t.none : t.choose}</option>}
      {!isKnown && text !== '' && <option value={text}>{text}</option>}
      {choices.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}

function RecordChoices(props: InputProps) {
  const choices = useChoices(props.field.refers_to ?? undefined);
  return <Several {...props} options={choices.map(({ id, name }) => ({ value: numberIn(id) ?? id, title: name }))} />;
}

function Lines(props: InputProps) {
  const given = useSignal(listIn(props.value).map(textIn).join('\n'));
  const change = (typed: string) => {
    given.value = typed;
    props.set(
      typed
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '')
        .map((line) =>
          rowIn(rowIn(props.field.schema)['items'])['type'] === 'integer' ? (numberIn(line) ?? line) : line,
        ),
    );
  };
  const area = (
    <textarea
      {...states(props)}
      rows={Math.max(2, Math.min(8, given.value.split('\n').length + 1))}
      placeholder={t.onePerLine}
      value={given.value}
      onInput={(event) => change(event.currentTarget.value)}
    />
  );
  if (!props.field.wire.endsWith('_paths')) return area;
  return (
    <div class="row chosen">
      {area}
      <PathChoice
        path={given.value.trim().split('\n').at(-1) ?? ''}
        of={props.field.title}
        take={(path) => change(`${given.value.trim()}\n${path}`.trim())}
      />
    </div>
  );
}

/** Values with parts. They are sent as they are written, once they are JSON. */
function Json(props: InputProps) {
  const given = useSignal(props.value == null ? '' : JSON.stringify(props.value, null, 2));
  const wrong = useSignal('');
  return (
    <>
      <textarea
        {...states(props)}
        class="code"
        rows={Math.max(3, Math.min(12, given.value.split('\n').length))}
        placeholder={exampleOf(props.field)}
        spellcheck={false}
        value={given.value}
        onInput={(event) => {
          given.value = event.currentTarget.value;
          try {
            props.set(given.value.trim() === '' ? null : JSON.parse(given.value));
            wrong.value = '';
          } catch {
            wrong.value = t.expectedJSONThisIsNotComplete;
          }
        }}
      />
      <p class="err">{wrong.value}</p>
    </>
  );
}

function exampleOf({ schema }: FormField): string {
  const [example] = listIn(rowIn(schema)['examples']);
  return example === undefined ? '' : JSON.stringify(example);
}

function Secret(props: InputProps) {
  return (
    <input
      {...states(props)}
      type="password"
      autocomplete="new-password"
      placeholder={props.isNew ? '' : t.unchanged}
      onInput={(event) =>
        props.set(event.currentTarget.value === '' && !props.isNew ? undefined : event.currentTarget.value)
      }
    />
  );
}

/** Text, with what there is to choose from as suggestions. */
function Text({ isLong, suggests, ...props }: InputProps & { isLong: boolean; suggests: string | undefined }) {
  const { field, value, set } = props;
  const given = useSignal<string | undefined>(undefined);
  const choices = useChoices(suggests, field.widget === 'path');
  const text =
    given.value !== undefined && isSame(valueIn(field, given.value), value) ? given.value : textOf(field, value);
  const change = (typed: string) => {
    given.value = typed;
    set(valueIn(field, typed));
  };
  if (isLong)
    return (
      <textarea
        {...states(props)}
        class="code"
        rows={6}
        spellcheck={false}
        value={text}
        onInput={(event) => change(event.currentTarget.value)}
      />
    );
  const input = (
    <>
      <input
        {...states(props)}
        type="text"
        list={choices.length > 0 ? `${props.id}-choices` : undefined}
        autocomplete="off"
        value={text}
        onInput={(event) => change(event.currentTarget.value)}
      />
      {choices.length > 0 && (
        <datalist id={`${props.id}-choices`}>
          {choices.map(({ id, name }) => (
            <option key={id} value={name} />
          ))}
        </datalist>
      )}
    </>
  );
  if (field.widget !== 'path') return input;
  return (
    <div class="row chosen">
      {input}
      <PathChoice path={text} of={field.title} take={change} />
    </div>
  );
}
