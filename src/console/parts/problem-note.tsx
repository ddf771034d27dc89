import { useSignal } from '@preact/signals';
import type { components } from '../../../clients/typescript/src/index.ts';
import { entryOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { now } from '../base/contact.ts';
import { age } from '../base/format.ts';
import { touch } from '../base/live.ts';
import { notify } from '../base/notices.ts';
import { refusalOf } from '../base/problem.ts';
import { link } from '../base/route.ts';
import * as t from '../texts/parts/problem-note.ts';

export type Problem = components['schemas']['Problem'];

/** What a problem is about, as an address of the console; undefined for what has no page. */
function pageOf(about: string): string | undefined {
  if (about.startsWith('subsystem/')) return link('activity');
  const [, path, key] = /^((?:[a-z_]+\/)+[a-z_]+)\/(\S.*)$/.exec(about) ?? [];
  if (path === undefined || key === undefined) return undefined;
  return link(entryOf(path), 'record', { of: path, key });
}

/** A problem with its sentence, and the request that ends it as a button. */
export function ProblemNote({ problem }: { problem: Problem }) {
  const isBusy = useSignal(false);
  const { message, since, severity, about, remedy } = problem;
  const [what = message, ...rest] = message.split(/(?<=[.])\s+/);
  const page = pageOf(about);
  const mend = async () => {
    if (remedy == null) return;
    isBusy.value = true;
    try {
      const path = remedy.path.startsWith('/') ? remedy.path : `/api/v1.0/${remedy.path}`;
      await client.request(remedy.method, path, { ...(remedy.body !== undefined && { body: remedy.body }) });
      notify(t.done(remedy.method, remedy.path));
    } catch (error) {
      notify(refusalOf(error).sentence, 'refused');
    } finally {
      isBusy.value = false;
      touch('problems', 'machine', 'drift');
    }
  };
  return (
    <div class={`note ${severity === 'critical' ? 'bad' : severity === 'warning' ? 'warn' : 'off'}`}>
      <span class="what">{what}</span>
      <span class="soft grow">{t.since(rest.join(' '), age(since, now.value))}</span>
      {page !== undefined && (
        <a class="btn" href={page}>
          {t.show}
        </a>
      )}
      {remedy != null && (
        <button
          type="button"
          class="primary"
          disabled={isBusy.value}
          title={`${remedy.method} ${remedy.path}`}
          onClick={() => void mend()}
        >
          {isBusy.value ? t.working : remedyTitle(remedy.path)}
        </button>
      )}
    </div>
  );
}

/** `Renew` for `acme/3/renew`: the last word of an action's path. */
function remedyTitle(path: string): string {
  const last = path.replace(/\/$/, '').split('/').at(-1) ?? '';
  return /^[a-z_]{3,}$/.test(last) ? `${last.charAt(0).toUpperCase()}${last.slice(1).replaceAll('_', ' ')}` : t.mend;
}
