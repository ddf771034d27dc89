import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { client } from '../base/client.ts';
import { useLive } from '../base/live.ts';
import { refusalOf } from '../base/problem.ts';
import * as t from '../texts/parts/path-picker.ts';

const top = '/mnt';

interface PickerProps {
  /** What the field has now: the walk begins there, or where the path leads to as far as it is there. */
  readonly path: string;
  take(path: string): void;
  close(): void;
}

/** Chooses a folder of a volume by walking there, and makes one. */
export default function PathPicker({ path, take, close }: PickerProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const at = useSignal(path === top || path.startsWith(`${top}/`) ? path.replace(/\/+$/, '') : top);
  const name = useSignal('');
  const refused = useSignal('');
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const folders = useLive(`folders of ${at.value}`, ['machine'], () =>
    client.get('/api/holdfast/v1/folders', { query: { path: at.value, limit: 1000 } }),
  );
  // A path that is not there yet leads to the nearest folder above it that is.
  useEffect(() => {
    if (folders.refused !== undefined && folders.value === undefined && at.value !== top)
      at.value = at.value.slice(0, at.value.lastIndexOf('/')) || top;
  }, [folders.refused, folders.value, at]);
  const walk = (to: string) => {
    at.value = to;
    refused.value = '';
    list.current?.focus();
  };
  const make = async () => {
    refused.value = '';
    try {
      const made = await client.post('/api/holdfast/v1/folders', { body: { path: `${at.value}/${name.value}` } });
      name.value = '';
      walk(made.path);
    } catch (error) {
      refused.value = refusalOf(error).fields['path']?.join(' ') ?? refusalOf(error).sentence;
    }
  };
  const parts = at.value.slice(1).split('/');
  return (
    <dialog ref={dialog} class="picker" aria-labelledby="picker-title" onClose={close}>
      <h2 id="picker-title">{t.chooseAFolder}</h2>
      <ol class="way" aria-label={t.theWayToIt}>
        {parts.map((part, index) => {
          const to = `/${parts.slice(0, index + 1).join('/')}`;
          return (
            <li key={to}>
              <button
                type="button"
                class="quiet"
                aria-current={index === parts.length - 1 ? 'location' : undefined}
                onClick={() => walk(to)}
              >
                {index === 0 ? to : part}
              </button>
            </li>
          );
        })}
      </ol>
      <ul ref={list} tabIndex={-1} aria-label={t.foldersIn(at.value)}>
        {folders.value?.map(({ path: one, dataset }) => (
          <li key={one}>
            <button type="button" class="quiet" onClick={() => walk(one)}>
              {one.slice(one.lastIndexOf('/') + 1)}
            </button>
            {dataset !== null && <span class="soft">{t.dataset(dataset)}</span>}
          </li>
        ))}
        {folders.value?.length === 0 && <li class="soft">{t.thereIsNoFolderInIt}</li>}
      </ul>
      {folders.value === undefined && <p class="soft">{folders.refused ?? t.readingTheFolders}</p>}
      {at.value !== top && (
        <div class="row">
          <input
            type="text"
            class="grow"
            aria-label={t.nameOfANewFolder}
            placeholder={t.newFolder}
            autocomplete="off"
            value={name.value}
            onInput={(event) => (name.value = event.currentTarget.value)}
            onKeyDown={(event) => {
              // The form around the dialog is not to be sent.
              if (event.key !== 'Enter') return;
              event.preventDefault();
              if (name.value !== '') void make();
            }}
          />
          <button type="button" disabled={name.value === ''} onClick={() => void make()}>
            {t.makeIt}
          </button>
        </div>
      )}
      <p class="err" role="alert">
        {refused.value}
      </p>
      <div class="row end">
        <button
          type="button"
          class="primary"
          disabled={at.value === top}
          onClick={() => {
            take(at.value);
            dialog.current?.close();
          }}
        >
          {t.take(at.value)}
        </button>
        <button type="button" onClick={() => dialog.current?.close()}>
          {t.cancel}
        </button>
      </div>
    </dialog>
  );
}
