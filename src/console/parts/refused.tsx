import { textIn } from '../base/json.ts';
import type { Refusal } from '../base/problem.ts';
import * as t from '../texts/parts/refused.ts';

/** Why it was refused, as far as no field shows it. */
export function Refused({ refusal, known }: { refusal: Refusal | undefined; known: readonly string[] }) {
  if (refusal === undefined) return <div role="alert" />;
  const others = Object.entries(refusal.fields).filter(([name]) => !known.includes(name));
  const count = Object.keys(refusal.fields).length - others.length;
  return (
    <div role="alert">
      {others.map(([name, sentences]) => (
        <p key={name} class="err">
          {name === '__all__' ? '' : `${name}: `}
          {sentences.join(' ')}
        </p>
      ))}
      {count > 0 && <p class="err">{t.nothingWasChanged(count === 1 ? t.oneFieldIsWrong : t.fieldsAreWrong(count))}</p>}
      {Object.keys(refusal.fields).length === 0 && <p class="err">{refusal.sentence}</p>}
      {refusal.holders.map((one) => (
        <p key={textIn(one['name'])} class="help">
          {t.inUseBy(textIn(one['title']))}
        </p>
      ))}
    </div>
  );
}
