import { client } from '../base/client.ts';
import { now } from '../base/contact.ts';
import { bytes, when } from '../base/format.ts';
import { useLive } from '../base/live.ts';
import { link, type Place } from '../base/route.ts';
import { Card, Scroller, Waiting } from '../parts/common.tsx';
import { join, kinds, mountpointOf, nameOf, partsOf } from '../parts/snapshot-files.ts';
import * as t from '../texts/pages/files.ts';

/** The files of a snapshot, folder by folder, each with the way back to its dataset. */
export default function FilesPage({ place: { words } }: { place: Place }) {
  const snapshot = words.get('snapshot') ?? '';
  const path = words.get('path') ?? '';
  const [dataset, name] = partsOf(snapshot);
  const files = useLive(`files ${snapshot} ${path}`, [], async () => {
    const mountpoint = await mountpointOf(dataset);
    return client.get('/api/holdfast/v1/folders', {
      query: { path: join(`${mountpoint}/.zfs/snapshot/${name}`, path).replace(/\/$/, ''), files: true, limit: 1000 },
    });
  });
  const parts = path === '' ? [] : path.split('/');
  const here = (to: string) => link('storage', 'files', { snapshot, path: to });
  return (
    <>
      <div class="row top">
        <a href={link('storage', 'snapshots', { dataset })}>{t.snapshots}</a>
        <h1>{t.filesOf(name)}</h1>
        <span class="soft grow">{t.ofIt(dataset)}</span>
        <a class="btn" href={link('storage', 'differences', { from: snapshot })}>
          {t.compareDots}
        </a>
        {path !== '' && (
          <a class="btn primary" href={link('storage', 'restore-file', { snapshot, path, kind: 'folder' })}>
            {t.restoreThisFolder}
          </a>
        )}
      </div>
      <Card
        title={parts.at(-1) ?? dataset}
        beside={
          <ol class="way" aria-label={t.theWayToIt}>
            {['', ...parts].map((part, index) => {
              const to = parts.slice(0, index).join('/');
              return (
                <li key={to}>
                  {index === parts.length ? (
                    <span aria-current="location">{part || dataset}</span>
                  ) : (
                    <a href={here(to)}>{part || dataset}</a>
                  )}
                </li>
              );
            })}
          </ol>
        }
      >
        {files.value === undefined ? (
          <Waiting refused={files.refused} what={t.theFiles} />
        ) : files.value.length === 0 ? (
          <p class="empty soft">{t.thereIsNothingInThisFolder}</p>
        ) : (
          <Scroller label={t.files}>
            <table>
              <thead>
                <tr>
                  <th>{t.name}</th>
                  <th>{t.kind}</th>
                  <th class="num">{t.size}</th>
                  <th>{t.changed}</th>
                  <th>{t.owner}</th>
                  <th>
                    <span class="unseen">{t.restore}</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {files.value.map((one) => {
                  const own = nameOf(one.path);
                  const below = join(path, own);
                  return (
                    <tr key={own}>
                      <td>{one.kind === 'folder' ? <a href={here(below)}>{own}</a> : own}</td>
                      <td class="soft">{kinds[one.kind]}</td>
                      <td class="num">{one.kind === 'file' ? bytes(one.size) : ''}</td>
                      <td>{when(one.modified, now.value)}</td>
                      <td>{one.owner ?? one.uid}</td>
                      <td class="num">
                        <a
                          href={link('storage', 'restore-file', { snapshot, path: below, kind: one.kind })}
                          aria-label={t.restoreOfOwn(own)}
                        >
                          {t.restoreDots}
                        </a>
                      </td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </Scroller>
        )}
      </Card>
    </>
  );
}
