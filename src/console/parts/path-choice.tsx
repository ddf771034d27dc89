import { useSignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useRef } from 'preact/hooks';
import * as t from '../texts/parts/path-choice.ts';

type Picker = ComponentType<{ path: string; take(path: string): void; close(): void }>;

/** The button beside a path. What it opens is loaded then. */
export function PathChoice({ path, of, take }: { path: string; of: string; take(path: string): void }) {
  const open = useSignal<{ readonly picker: Picker } | undefined>(undefined);
  const button = useRef<HTMLButtonElement>(null);
  const Opened = open.value?.picker;
  return (
    <>
      <button
        ref={button}
        type="button"
        aria-label={t.choose(of)}
        aria-haspopup="dialog"
        onClick={() => {
          void import('./path-picker.tsx').then((loaded) => (open.value = { picker: loaded.default }));
        }}
      >
        {t.chooseDots}
      </button>
      {Opened !== undefined && (
        <Opened
          {...{ path, take }}
          close={() => {
            open.value = undefined;
            button.current?.focus();
          }}
        />
      )}
    </>
  );
}
