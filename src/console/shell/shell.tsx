import { useSignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { entries } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { contact } from '../base/contact.ts';
import { count } from '../base/format.ts';
import { outdated, useLive } from '../base/live.ts';
import { link, type Place, place } from '../base/route.ts';
import { leave } from '../base/session.ts';
import * as t from '../texts/shell/shell.ts';
import { Confirmation } from './confirmation.tsx';
import { Footer, Notices } from './footer.tsx';
import { Lost } from './lost.tsx';
import { Search } from './search.tsx';

type Page = ComponentType<{ place: Place }>;

/** The pages, each loaded when it is opened first. */
const pages: Readonly<Record<string, () => Promise<{ readonly default: Page }>>> = {
  overview: () => import('../pages/overview.tsx'),
  'overview/first-hour': () => import('../pages/first-hour.tsx'),
  storage: () => import('../pages/storage.tsx'),
  'storage/new-pool': () => import('../pages/new-pool.tsx'),
  'storage/dataset': () => import('../pages/dataset.tsx'),
  'storage/replace': () => import('../pages/replace.tsx'),
  'storage/snapshots': () => import('../pages/snapshots.tsx'),
  'storage/restore': () => import('../pages/restore.tsx'),
  'system/migrate': () => import('../pages/migrate.tsx'),
  'storage/files': () => import('../pages/files.tsx'),
  'storage/differences': () => import('../pages/differences.tsx'),
  'storage/restore-file': () => import('../pages/restore-file.tsx'),
  'sharing/new-share': () => import('../pages/new-share.tsx'),
  'block/new-target': () => import('../pages/new-target.tsx'),
  'protection/new-replication': () => import('../pages/new-replication.tsx'),
  'accounts/join': () => import('../pages/join.tsx'),
  'system/new-certificate': () => import('../pages/new-certificate.tsx'),
  sharing: () => import('../pages/sharing.tsx'),
  network: () => import('../pages/network.tsx'),
  'network/address': () => import('../pages/address.tsx'),
  activity: () => import('../pages/activity.tsx'),
  account: () => import('../pages/account.tsx'),
  area: () => import('../pages/area.tsx'),
  list: () => import('../pages/list.tsx'),
  record: () => import('../pages/record.tsx'),
  command: () => import('../pages/command.tsx'),
};

/** `list`, `record` and `command` are the same for every resource; the other pages belong to one entry. */
function pageOf({ entry, page }: Place): string {
  if (['list', 'record', 'command'].includes(page)) return page;
  const own = `${entry}/${page}`;
  if (pages[own] !== undefined) return own;
  return pages[entry] === undefined || entry === 'area' ? 'area' : entry;
}

export function Shell({ name }: { name: string }) {
  const { value: problems = [] } = useLive('problems', ['problems'], () => client.get('/api/holdfast/v1/problems'));
  const { value: jobs = [] } = useLive('running', ['jobs'], () =>
    client.get('/api/holdfast/v1/jobs', { query: { filter: ['state=running'] } }),
  );
  const menu = useRef<HTMLElement>(null);
  // On a narrow window the menu is a line that scrolls. Scrolling it by itself leaves the page where it is.
  useEffect(() => {
    const show = () => {
      const current = menu.current?.querySelector<HTMLElement>('[aria-current]');
      if (current != null) menu.current?.scrollTo({ left: current.offsetLeft - 60 });
    };
    show();
    addEventListener('resize', show);
    return () => removeEventListener('resize', show);
  }, [place.value.entry]);
  const open = problems.filter(({ dismissed }) => !dismissed);
  const isCritical = open.some(({ severity }) => severity === 'critical');
  const title = open.length === 0 ? t.everythingIsWell : count(open.length, t.thingNeedsYou, t.thingsNeedYou);
  const isStale = contact.value === 'lost' || outdated.value.length > 0;
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        {t.goToThePage}
      </button>
      <header>
        <b>{location.hostname}</b>
        <a
          href={link('overview')}
          class={`pill ${isStale ? 'off' : open.length === 0 ? 'ok' : isCritical ? 'bad' : 'warn'}`}
        >
          {title}
        </a>
        <Search />
        <span class="grow" />
        <a class="jobs soft" href={link('activity')}>
          {jobs.length === 0 ? t.noJobs : count(jobs.length, t.job)}
        </a>
        <a class="soft" href={link('account')}>
          {name}
        </a>
        <button type="button" class="quiet" onClick={() => void leave()}>
          {t.signOut}
        </button>
      </header>
      <nav aria-label={t.areas} ref={menu}>
        {entries.map((one) => (
          <a key={one.name} href={link(one.name)} aria-current={place.value.entry === one.name ? 'page' : undefined}>
            <span>{one.title}</span>
            {one.name === 'overview' && open.length > 0 && (
              <span class={`count ${isCritical ? 'bad' : ''}`}>{open.length}</span>
            )}
            {one.name === 'activity' && jobs.length > 0 && <span class="count">{jobs.length}</span>}
          </a>
        ))}
      </nav>
      <main id="main" tabIndex={-1} class={isStale ? 'stale' : ''}>
        <Lost />
        <Confirmation />
        <Opened place={place.value} />
      </main>
      <Notices />
      <Footer />
    </div>
  );
}

/** The page of a place, once its script is there. */
function Opened({ place }: { place: Place }) {
  const wanted = pageOf(place);
  const loaded = useSignal<{ readonly name: string; readonly page: Page } | undefined>(undefined);
  const failed = useSignal(false);
  useEffect(() => {
    let isWanted = true;
    pages[wanted]?.().then(
      ({ default: page }) => {
        if (isWanted) loaded.value = { name: wanted, page };
      },
      () => {
        failed.value = true;
      },
    );
    return () => {
      isWanted = false;
    };
  }, [wanted, loaded, failed]);
  useEffect(() => {
    document.title = `${entries.find(({ name }) => name === place.entry)?.title ?? t.holdfast} · ${location.hostname}`;
  }, [place.entry]);
  if (failed.value)
    return (
      <p class="err">
        {t.thisPageCouldNotBeLoaded(
          <button type="button" onClick={() => location.reload()}>
            {t.loadTheConsoleAgain}
          </button>,
        )}
      </p>
    );
  if (loaded.value?.name !== wanted) return <p class="soft">{t.opening}</p>;
  const { page: Page } = loaded.value;
  return <Page key={`${place.entry}/${place.page}?${place.words}`} place={place} />;
}
