/** Fields of pages that are made by hand: the label, what is typed or chosen, what is wrong with it, and the help. */
import type { ComponentChildren } from 'preact';

interface LabelledProps {
  readonly id: string;
  readonly label: ComponentChildren;
  readonly value: string;
  set(value: string): void;
  readonly problems?: readonly string[] | undefined;
  readonly help?: ComponentChildren;
}

interface TextFieldProps extends LabelledProps {
  readonly type?: 'text' | 'password';
  readonly placeholder?: string;
  readonly isNumber?: boolean;
  /** What the browser may fill in. */
  readonly autocomplete?: string;
  /** A button that helps to find the value. */
  readonly beside?: ComponentChildren;
}

export function TextField(props: TextFieldProps) {
  const { value, set, type = 'text', placeholder, isNumber = false, autocomplete = 'off', beside } = props;
  const states = {
    ...statesOf(props),
    ...{ placeholder, autocomplete, value, inputMode: isNumber ? 'numeric' : undefined },
    onInput: (event: InputEvent & { readonly currentTarget: HTMLInputElement }) => set(event.currentTarget.value),
  } as const;
  // The two differ in the roles that they may have.
  const input = type === 'password' ? <input type="password" {...states} /> : <input type="text" {...states} />;
  return (
    <Labelled {...props}>
      {beside === undefined ? (
        input
      ) : (
        <div class="row chosen">
          {input}
          {beside}
        </div>
      )}
    </Labelled>
  );
}

/** A choice of one. `children` are the options. */
export function SelectField(props: LabelledProps & { readonly children: ComponentChildren }) {
  return (
    <Labelled {...props}>
      <select {...statesOf(props)} value={props.value} onChange={(event) => props.set(event.currentTarget.value)}>
        {props.children}
      </select>
    </Labelled>
  );
}

const isWrong = ({ problems = [] }: LabelledProps): boolean => problems.length > 0;

const statesOf = (props: LabelledProps) => ({
  id: props.id,
  'aria-describedby': `${props.id}-problem${props.help === undefined ? '' : ` ${props.id}-help`}`,
  'aria-invalid': isWrong(props),
  class: isWrong(props) ? 'wrong' : '',
});

function Labelled(props: LabelledProps & { readonly children: ComponentChildren }) {
  const { id, label, problems = [], help, children } = props;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      <p class="err" id={`${id}-problem`}>
        {problems.join(' ')}
      </p>
      {help !== undefined && (
        <p class="help" id={`${id}-help`}>
          {help}
        </p>
      )}
    </div>
  );
}
