import type { ComponentChildren } from 'preact';
import * as t from '../texts/parts/common.ts';

export type State = 'ok' | 'warn' | 'bad' | 'off';

export function Pill({ state, children }: { state: State; children: ComponentChildren }) {
  return <span class={`pill ${state}`}>{children}</span>;
}

export function Card({
  title,
  beside,
  children,
}: {
  title: string;
  beside?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <section class="card">
      <div class="head">
        <h2>{title}</h2>
        {beside}
      </div>
      {children}
    </section>
  );
}

/** The name that a person types before something is destroyed. `children` say more about it. */
export function TypedName({
  name,
  typed,
  children,
}: {
  name: string;
  typed: { value: string };
  children?: ComponentChildren;
}) {
  return (
    <div class="field">
      <label for="name">{t.typeToGoOn(<code>{name}</code>)}</label>
      <input
        id="name"
        type="text"
        autocomplete="off"
        value={typed.value}
        onInput={(event) => (typed.value = event.currentTarget.value)}
      />
      {children}
    </div>
  );
}

/** Text where nothing is known yet, or why. */
export function Waiting({ refused, what }: { refused: string | undefined; what: string }) {
  return refused === undefined ? <p class="soft">{t.reading(what)}</p> : <p class="err">{refused}</p>;
}

/** Data, snapshots, datasets below, and what is reserved. */
export type SpaceKind = 'd' | 's' | 'c' | 'h';

/** Space as parts of a bar. What the parts mean stands beside it as text. */
export function SpaceBar({
  parts,
  total,
  label,
}: {
  parts: readonly { kind: SpaceKind; size: number }[];
  total: number;
  label: string;
}) {
  return (
    <div class="bar" role="img" aria-label={label} title={label}>
      {parts.map(({ kind, size }) => (
        <i key={kind} class={kind} style={{ width: `${total <= 0 ? 0 : Math.min(100, (100 * size) / total)}%` }} />
      ))}
    </div>
  );
}

export function SpaceKey({ data, further }: { data: string; further: string }) {
  return (
    <div class="key">
      <span>
        <i class="d" />
        {data}
      </span>
      <span>
        <i class="s" />
        {further}
      </span>
      <span>
        <i class="f" />
        {t.free}
      </span>
    </div>
  );
}

/** A table that scrolls sideways where the window is narrow. */
export function Scroller({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <section class="scroller" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}

interface PickProps {
  readonly name: string;
  readonly isChosen: boolean;
  choose(): void;
  readonly title: string;
  readonly text: ComponentChildren;
}

/** One of some ways to do a thing, with what it means. */
export function Pick({ name, isChosen, choose, title, text }: PickProps) {
  return (
    <label class="pick">
      <input type="radio" name={name} checked={isChosen} onChange={choose} />
      <b>{title}</b>
      <span class="soft">{text}</span>
    </label>
  );
}
