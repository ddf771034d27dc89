import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { entryOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { capital } from '../base/format.ts';
import { refusalOf } from '../base/problem.ts';
import { go, link } from '../base/route.ts';
import { plural } from '../texts/base/format.ts';
import * as t from '../texts/shell/search.ts';

type Found = Awaited<ReturnType<typeof look>>[number];

const look = (text: string, signal: AbortSignal) =>
  client.get('/api/holdfast/v1/search', { query: { text, limit: 12 }, signal });

/** Milliseconds without a keystroke after which the appliance is asked. */
const pause = 120;

function addressIn({ kind, resource, key }: Found): string {
  const entry = entryOf(resource);
  if (kind === 'record') return link(entry, 'record', { of: resource, key });
  if (kind === 'setting') return link(entry, 'record', { of: resource, field: key });
  if (kind === 'action')
    return key === 'create' ? link(entry, 'record', { of: resource, new: '1' }) : link(entry, 'list', { of: resource });
  return link(entry, 'list', { of: resource });
}

const kinds: Readonly<Record<Found['kind'], string>> = {
  record: t.record,
  resource: t.list,
  setting: t.setting,
  action: t.action,
};

/** Finds records, settings and actions; `/` leads here from everywhere. */
export function Search() {
  const text = useSignal('');
  const found = useSignal<readonly Found[]>([]);
  /** The text that `found` belongs to, and the one for which Enter was pressed before its answer came. */
  const answered = useSignal('');
  const entered = useRef<string | undefined>(undefined);
  const chosen = useSignal(0);
  const note = useSignal('');
  const box = useRef<HTMLInputElement>(null);

  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      const target = event.target instanceof HTMLElement ? event.target : undefined;
      if (event.key !== '/' || event.ctrlKey || event.metaKey || target?.matches('input, textarea, select')) return;
      event.preventDefault();
      box.current?.focus();
    };
    addEventListener('keydown', focus);
    return () => removeEventListener('keydown', focus);
  }, []);

  const close = () => {
    text.value = '';
    box.current?.blur();
  };
  const choose = (one: Found | undefined) => {
    entered.current = undefined;
    if (one === undefined) return;
    go(addressIn(one));
    close();
  };
  const enter = () => {
    // What is shown may still belong to what was typed before: then the first of the next answer is meant.
    if (answered.value === text.value) choose(found.value[chosen.value]);
    else entered.current = text.value;
  };

  useEffect(() => {
    if (entered.current !== text.value) entered.current = undefined;
    if (text.value.trim() === '') {
      found.value = [];
      answered.value = '';
      note.value = '';
      return undefined;
    }
    const asked = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const some = await look(text.value, asked.signal);
        if (asked.signal.aborted) return;
        found.value = some;
        answered.value = text.value;
        chosen.value = 0;
        if (entered.current === text.value) choose(some[0]);
        note.value = found.value.length === 0 ? t.nothingHasThisName : t.found(found.value.length);
      } catch (error) {
        if (!asked.signal.aborted) note.value = refusalOf(error).sentence;
      }
    }, pause);
    return () => {
      clearTimeout(timer);
      asked.abort();
    };
  }, [text.value, found, chosen, note, answered]);

  const move = (event: KeyboardEvent) => {
    const { length } = found.value;
    if (event.key === 'Escape') close();
    else if (event.key === 'Enter') enter();
    else if (event.key === 'ArrowDown' && length > 0) chosen.value = (chosen.value + 1) % length;
    else if (event.key === 'ArrowUp' && length > 0) chosen.value = (chosen.value + length - 1) % length;
    else return;
    event.preventDefault();
  };
  const isOpen = text.value.trim() !== '';
  return (
    <search class="find">
      <input
        ref={box}
        type="text"
        role="combobox"
        aria-label={t.findLabel}
        aria-expanded={isOpen && found.value.length > 0}
        aria-controls="found"
        aria-activedescendant={isOpen && found.value.length > 0 ? `found-${chosen.value}` : undefined}
        placeholder={t.findPlaceholder}
        value={text.value}
        onInput={(event) => (text.value = event.currentTarget.value)}
        onKeyDown={move}
      />
      <kbd>/</kbd>
      <div class="results" hidden={!isOpen}>
        <div id="found" role="listbox" aria-label={t.whatWasFound}>
          {found.value.map((one, index) => (
            <div
              key={`${one.kind} ${one.resource} ${one.key}`}
              id={`found-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === chosen.value}
              onPointerDown={(event) => {
                event.preventDefault();
                choose(one);
              }}
            >
              <span class="what">{one.kind === 'resource' ? plural(capital(one.title)) : one.title}</span>
              <span class="soft">{one.detail}</span>
              <small>{kinds[one.kind]}</small>
            </div>
          ))}
        </div>
        <p class="soft" role="status">
          {note.value}
        </p>
      </div>
    </search>
  );
}
