import { addressOf, formOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { listIn, numberIn, rowIn, rowsIn, textIn } from '../base/json.ts';
import { useLive } from '../base/live.ts';
import { link } from '../base/route.ts';
import { Card, Pill, Waiting } from '../parts/common.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Resources } from '../parts/resources.tsx';
import { Rows } from '../parts/rows.tsx';
import * as t from '../texts/pages/sharing.ts';

const protocols = [
  { path: 'sharing/cifs', title: 'SMB', service: 'cifs' },
  { path: 'sharing/nfs', title: 'NFS', service: 'nfs' },
  { path: 'sharing/afp', title: 'AFP', service: 'afp' },
  { path: 'sharing/webdav', title: t.webDAV, service: 'webdav' },
] as const;

interface Share {
  readonly protocol: string;
  readonly of: string;
  readonly key: string;
  readonly name: string;
  readonly folders: string;
  readonly comment: string;
  readonly service: Service;
}

interface Service {
  readonly id: string;
  readonly isOn: boolean;
  readonly runs: boolean;
}

/** The shares of all protocols, by their folders. */
async function readShares(): Promise<readonly Share[]> {
  const services = rowsIn(await client.request('GET', '/api/v1.0/services/services/?limit=0'));
  const lists = await Promise.all(
    protocols.map(async ({ path, title, service: name }) => {
      const found = rowIn(services.find((one) => one['srv_service'] === name));
      const service = {
        ...{ id: textIn(found['id']), isOn: found['srv_enable'] === true },
        runs: found['srv_state'] === 'RUNNING',
      };
      const form = await formOf(path);
      const rows = rowsIn(await client.request('GET', `${addressOf(path)}?limit=0`));
      return rows.map((row): Share => {
        const folderField =
          form?.fields.find(({ widget, wire }) => widget === 'path' || /_paths?$/.test(wire))?.wire ?? '';
        const value = row[folderField];
        const comment = form?.fields.find(({ wire }) => wire.endsWith('_comment'))?.wire ?? '';
        return {
          ...{ protocol: title, service, of: path, key: String(numberIn(row['id']) ?? '') },
          name: textIn(row[form?.name_field ?? 'id']) || String(row['id']),
          folders: Array.isArray(value) ? listIn(value).map(textIn).join(', ') : textIn(value),
          comment: textIn(row[comment]),
        };
      });
    }),
  );
  return lists.flat().toSorted((a, b) => a.folders.localeCompare(b.folders));
}

/** Whether the program that serves a share runs; if not, the way to its switch. */
function Served({ protocol, service: { id, isOn, runs } }: { protocol: string; service: Service }) {
  if (runs) return <Pill state="ok">{t.served}</Pill>;
  return (
    <Pill state={isOn ? 'bad' : 'warn'}>
      <a href={link('system', 'record', { of: 'services/services', key: id })}>
        {isOn ? t.doesNotRun(protocol) : t.isOff(protocol)}
      </a>
    </Pill>
  );
}

/** All protocols in one list. */
export default function SharingPage() {
  const shares = useLive(
    'shares',
    [...protocols.map(({ path }) => `record:${path}`), 'record:services/services', 'machine'],
    readShares,
  );
  return (
    <>
      <PageHead title={t.sharing}>
        <a class="btn primary" href={link('sharing', 'new-share')}>
          {t.shareAFolder}
        </a>
      </PageHead>
      <Card title={t.shares}>
        {shares.value === undefined ? (
          <Waiting refused={shares.refused} what={t.theShares} />
        ) : shares.value.length === 0 ? (
          <p class="soft">{t.noFolderIsSharedYet}</p>
        ) : (
          <Rows
            label={t.shares}
            rows={shares.value}
            keyOf={({ of, key }) => `${of} ${key}`}
            columns={[
              {
                title: t.name,
                cell: ({ of, key, name }) => <a href={link('sharing', 'record', { of, key })}>{name}</a>,
              },
              { title: t.state, cell: ({ protocol, service }) => <Served {...{ protocol, service }} /> },
              { title: t.servedBy, cell: ({ protocol }) => protocol },
              { title: t.folder, cell: ({ folders }) => folders },
              { ...{ title: t.comment, isLong: true, isSoft: true }, cell: ({ comment }) => comment },
            ]}
          />
        )}
      </Card>
      <div class="more">
        <Resources entry="sharing" />
      </div>
    </>
  );
}
