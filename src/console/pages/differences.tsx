import { addressOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { count } from '../base/format.ts';
import { rowsIn, textIn } from '../base/json.ts';
import { useLive } from '../base/live.ts';
import { go, link, type Place } from '../base/route.ts';
import { Card, Pill, Scroller, type State, Waiting } from '../parts/common.tsx';
import { partsOf } from '../parts/snapshot-files.ts';

const changes = {
  added: ['ok', 'new'],
  removed: ['bad', 'gone'],
  changed: ['warn', 'changed'],
  renamed: ['off', 'renamed'],
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
      <div class="row top">
        <a href={link('storage', 'snapshots', { dataset })}>Snapshots</a>
        <h1>What changed since {name}</h1>
        <span class="soft grow" role="status">
          {found.value !== undefined && `${complete ? '' : 'more than '}${count(differences.length, 'difference')}`}
        </span>
        <label for="later">until</label>
        <select
          id="later"
          class="filter"
          value={to}
          onChange={({ currentTarget: { value } }) => go(link('storage', 'differences', { from, to: value }))}
        >
          <option value="">now</option>
          {later.map((one) => (
            <option key={one} value={`${dataset}@${one}`}>
              {one}
            </option>
          ))}
        </select>
      </div>
      <Card title={dataset} beside={<a href={link('storage', 'files', { snapshot: from })}>All files of {name}</a>}>
        {found.value === undefined ? (
          <Waiting refused={found.refused} what="the differences" />
        ) : differences.length === 0 ? (
          <p class="empty soft">Nothing has changed.</p>
        ) : (
          <Scroller label="Differences">
            <table>
              <thead>
                <tr>
                  <th>Change</th>
                  <th>Path</th>
                  <th>Kind</th>
                  <th>
                    <span class="unseen">Restore</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {differences.slice(0, mostShown).map(({ change, kind, path, to: moved }) => {
                  const [state, title] = changes[change];
                  return (
                    <tr key={`${change} ${path}`}>
                      <td>
                        <Pill state={state}>{title}</Pill>
                      </td>
                      <td class="wrap">{moved === null ? path || 'its own folder' : `${path} → ${moved}`}</td>
                      <td class="soft">{kind}</td>
                      <td class="num">
                        {path !== '' && (change === 'removed' || (change === 'changed' && kind !== 'folder')) && (
                          <a
                            href={link('storage', 'restore-file', { snapshot: from, path, kind })}
                            aria-label={`Restore ${path}`}
                          >
                            Restore…
                          </a>
                        )}
                      </td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
            {differences.length > mostShown && (
              <p class="help">
                {count(differences.length - mostShown, 'further difference')} are not shown. Compare with an earlier
                snapshot to see fewer.
              </p>
            )}
          </Scroller>
        )}
      </Card>
    </>
  );
}
