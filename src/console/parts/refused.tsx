import { entryOf } from '../base/catalogue.ts';
import { type Row, textIn } from '../base/json.ts';
import type { Refusal } from '../base/problem.ts';
import { link } from '../base/route.ts';
import * as t from '../texts/parts/refused.ts';

/** What uses something, with the way to it where the console has a page of it. */
function Holder({ holder }: { holder: Row }) {
  const [title, name] = [textIn(holder['title']), textIn(holder['name'])];
  const [, path, key] = /^(.+)\/([^/]+)$/.exec(name) ?? [];
  if (holder['kind'] === 'record' && path !== undefined && key !== undefined)
    return <a href={link(entryOf(path), 'record', { of: path, key })}>{title}</a>;
  if (holder['kind'] === 'job') return <a href={link('activity')}>{title}</a>;
  if (holder['kind'] === 'clone') return <a href={link('storage', 'dataset', { name })}>{name}</a>;
  return <>{[title, name].filter((one) => one !== '').join(' · ')}</>;
}

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
          {t.inUseBy(<Holder holder={one} />)}
        </p>
      ))}
    </div>
  );
}
