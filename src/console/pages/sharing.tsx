import { addressOf, formOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { listIn, numberIn, rowsIn, textIn } from '../base/json.ts';
import { useLive } from '../base/live.ts';
import { link } from '../base/route.ts';
import { Card, Scroller, Waiting } from '../parts/common.tsx';
import { Resources } from './area.tsx';

const protocols = [
  { path: 'sharing/cifs', title: 'SMB' },
  { path: 'sharing/nfs', title: 'NFS' },
  { path: 'sharing/afp', title: 'AFP' },
  { path: 'sharing/webdav', title: 'WebDAV' },
] as const;

interface Share {
  readonly protocol: string;
  readonly of: string;
  readonly key: string;
  readonly name: string;
  readonly folders: string;
  readonly comment: string;
}

/** The shares of all protocols, by their folders. */
async function readShares(): Promise<readonly Share[]> {
  const lists = await Promise.all(
    protocols.map(async ({ path, title }) => {
      const form = await formOf(path);
      const rows = rowsIn(await client.request('GET', `${addressOf(path)}?limit=0`));
      return rows.map((row): Share => {
        const folderField =
          form?.fields.find(({ widget, wire }) => widget === 'path' || /_paths?$/.test(wire))?.wire ?? '';
        const value = row[folderField];
        const comment = form?.fields.find(({ wire }) => wire.endsWith('_comment'))?.wire ?? '';
        return {
          ...{ protocol: title, of: path, key: String(numberIn(row['id']) ?? '') },
          name: textIn(row[form?.name_field ?? 'id']) || String(row['id']),
          folders: Array.isArray(value) ? listIn(value).map(textIn).join(', ') : textIn(value),
          comment: textIn(row[comment]),
        };
      });
    }),
  );
  return lists.flat().toSorted((a, b) => a.folders.localeCompare(b.folders));
}

/** All protocols in one list. */
export default function SharingPage() {
  const shares = useLive(
    'shares',
    protocols.map(({ path }) => `record:${path}`),
    readShares,
  );
  return (
    <>
      <div class="row top">
        <h1>Sharing</h1>
        <span class="grow" />
        {protocols.map(({ path, title }) => (
          <a
            key={path}
            class={path === 'sharing/cifs' ? 'btn primary' : 'btn'}
            href={link('sharing', 'record', { of: path, new: '1' })}
          >
            New {title} share
          </a>
        ))}
      </div>
      <Card title="Shares">
        {shares.value === undefined ? (
          <Waiting refused={shares.refused} what="the shares" />
        ) : shares.value.length === 0 ? (
          <p class="soft">No folder is shared yet.</p>
        ) : (
          <Scroller label="Shares">
            <table>
              <thead>
                <tr>
                  <th>Name</th>
                  <th>Served by</th>
                  <th>Folder</th>
                  <th>Comment</th>
                </tr>
              </thead>
              <tbody>
                {shares.value.map(({ of, key, name, protocol, folders, comment }) => (
                  <tr key={`${of} ${key}`}>
                    <td>
                      <a href={link('sharing', 'record', { of, key })}>{name}</a>
                    </td>
                    <td>{protocol}</td>
                    <td>{folders}</td>
                    <td class="soft wrap">{comment}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroller>
        )}
      </Card>
      <div class="more">
        <Resources entry="sharing" />
      </div>
    </>
  );
}
