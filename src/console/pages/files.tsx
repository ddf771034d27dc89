import { client } from '../base/client.ts';
import { now } from '../base/contact.ts';
import { bytes, when } from '../base/format.ts';
import { useLive } from '../base/live.ts';
import { link, type Place } from '../base/route.ts';
import { Card, Waiting } from '../parts/common.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Rows } from '../parts/rows.tsx';
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
      <PageHead
        up={[link('storage', 'snapshots', { dataset }), t.snapshots]}
        title={t.filesOf(name)}
        about={t.ofIt(dataset)}
      >
        <a class="btn" href={link('storage', 'differences', { from: snapshot })}>
          {t.compareDots}
        </a>
        {path !== '' && (
          <a class="btn primary" href={link('storage', 'restore-file', { snapshot, path, kind: 'folder' })}>
            {t.restoreThisFolder}
          </a>
        )}
      </PageHead>
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
          <Rows
            label={t.files}
            rows={files.value}
            keyOf={(one) => one.path}
            columns={[
              {
                title: t.name,
                cell: (one) => {
                  const own = nameOf(one.path);
                  return one.kind === 'folder' ? <a href={here(join(path, own))}>{own}</a> : own;
                },
              },
              { title: t.kind, isSoft: true, cell: (one) => kinds[one.kind] },
              { title: t.size, isNumber: true, cell: (one) => (one.kind === 'file' ? bytes(one.size) : '') },
              { title: t.changed, cell: (one) => when(one.modified, now.value) },
              { title: t.owner, cell: (one) => one.owner ?? one.uid },
              {
                ...{ title: t.restore, isAction: true },
                cell: (one) => {
                  const own = nameOf(one.path);
                  return (
                    <a
                      href={link('storage', 'restore-file', { snapshot, path: join(path, own), kind: one.kind })}
                      aria-label={t.restoreOfOwn(own)}
                    >
                      {t.restoreDots}
                    </a>
                  );
                },
              },
            ]}
          />
        )}
      </Card>
    </>
  );
}
