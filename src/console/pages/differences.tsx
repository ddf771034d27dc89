import { addressOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { count } from '../base/format.ts';
import { rowsIn, textIn } from '../base/json.ts';
import { useLive } from '../base/live.ts';
import { go, link, type Place } from '../base/route.ts';
import { Card, Pill, type State, Waiting } from '../parts/common.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Rows } from '../parts/rows.tsx';
import { kinds, partsOf } from '../parts/snapshot-files.ts';
import * as t from '../texts/pages/differences.ts';

const changes = {
  added: ['ok', t.isNew],
  removed: ['bad', t.isGone],
  changed: ['warn', t.isChanged],
  renamed: ['off', t.isRenamed],
} as const satisfies Record<string, readonly [State, string]>;

/** The most rows that are drawn: what is further down is looked for by comparing closer snapshots. */
const mostShown = 500;

/** What differs between a snapshot and a later one, or the dataset as it is now. */
export default function DifferencesPage({ place: { words } }: { place: Place }) {
  const from = words.get('from') ?? '';
  const to = words.get('to') ?? '';
  const [dataset, name] = partsOf(from);
  const chosen = new URLSearchParams({ limit: '0', fields: 'name', filter: `filesystem=${dataset}` });
  const names = useLive(`later than ${from}`, ['machine'], async () =>
    rowsIn(await client.request('GET', `${addressOf('storage/snapshot')}?${chosen}`)).map((one) => textIn(one['name'])),
  );
  const found = useLive(`differences ${from} ${to}`, [], () =>
    client.get('/api/holdfast/v1/snapshots/differences', { query: { from, ...(to !== '' && { to }) } }),
  );
  const all = names.value ?? [];
  const later = all.slice(all.indexOf(name) + 1);
  const { differences = [], complete = true } = found.value ?? {};
  return (
    <>
      <PageHead
        up={[link('storage', 'snapshots', { dataset }), t.snapshots]}
        title={t.whatChangedSince(name)}
        about={found.value !== undefined && `${complete ? '' : t.moreThan}${count(differences.length, t.difference)}`}
        isStatus
      >
        <label for="later">{t.until}</label>
        <select
          id="later"
          class="span"
          value={to}
          onChange={({ currentTarget: { value } }) => go(link('storage', 'differences', { from, to: value }))}
        >
          <option value="">{t.now}</option>
          {later.map((one) => (
            <option key={one} value={`${dataset}@${one}`}>
              {one}
            </option>
          ))}
        </select>
      </PageHead>
      <Card title={dataset} beside={<a href={link('storage', 'files', { snapshot: from })}>{t.allFilesOf(name)}</a>}>
        {found.value === undefined ? (
          <Waiting refused={found.refused} what={t.theDifferences} />
        ) : differences.length === 0 ? (
          <p class="empty soft">{t.nothingHasChanged}</p>
        ) : (
          <>
            <Rows
              label={t.differences}
              rows={differences.slice(0, mostShown)}
              keyOf={({ change, path }) => `${change} ${path}`}
              columns={[
                {
                  title: t.change,
                  cell: ({ change }) => <Pill state={changes[change][0]}>{changes[change][1]}</Pill>,
                },
                {
                  ...{ title: t.path, isLong: true },
                  cell: ({ path, to: moved }) => (moved === null ? path || t.itsOwnFolder : `${path} → ${moved}`),
                },
                { title: t.kind, isSoft: true, cell: ({ kind }) => kinds[kind] },
                {
                  ...{ title: t.restore, isAction: true },
                  cell: ({ change, kind, path }) =>
                    path !== '' &&
                    (change === 'removed' || (change === 'changed' && kind !== 'folder')) && (
                      <a
                        href={link('storage', 'restore-file', { snapshot: from, path, kind })}
                        aria-label={t.restoreOfPath(path)}
                      >
                        {t.restoreDots}
                      </a>
                    ),
                },
              ]}
            />
            {differences.length > mostShown && (
              <p class="help">
                {t.areNotShownCompareWithAn(count(differences.length - mostShown, t.furtherDifference))}
              </p>
            )}
          </>
        )}
      </Card>
    </>
  );
}
