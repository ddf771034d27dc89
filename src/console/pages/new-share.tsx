import { useSignal } from '@preact/signals';
import { client } from '../base/client.ts';
import { rowsIn, textIn } from '../base/json.ts';
import { useLive } from '../base/live.ts';
import { go, link, type Place } from '../base/route.ts';
import { type Asked, asPlainCommand, transactions } from '../parts/asking.ts';
import { Pick, Waiting } from '../parts/common.tsx';
import { SelectField, TextField } from '../parts/labelled.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { PathChoice } from '../parts/path-choice.tsx';
import { RequestForm } from '../parts/request-form.tsx';
import * as t from '../texts/pages/new-share.ts';

const protocols = [
  { name: 'SMB', for: t.windowsMacOSAndLinux, service: 'cifs' },
  { name: 'NFS', for: t.linuxAndHypervisors, service: 'nfs' },
  { name: 'WebDAV', for: t.browsersAndFarAwayClients, service: 'webdav' },
] as const;
type Protocol = (typeof protocols)[number]['name'];

interface Known {
  readonly groups: readonly string[];
  readonly services: ReadonlyMap<string, { readonly id: string; readonly isOn: boolean }>;
}

async function readKnown(): Promise<Known> {
  const [groups, services] = await Promise.all([
    client.request('GET', '/api/v1.0/account/groups/?limit=0'),
    client.request('GET', '/api/v1.0/services/services/?limit=0'),
  ]);
  return {
    groups: rowsIn(groups)
      .filter((one) => one['bsdgrp_builtin'] !== true)
      .map((one) => textIn(one['bsdgrp_group'])),
    services: new Map(
      rowsIn(services).map((one) => [
        textIn(one['srv_service']),
        { id: textIn(one['id']), isOn: one['srv_enable'] === true },
      ]),
    ),
  };
}

type Who = 'group' | 'accounts' | 'guests';

/** Shares a folder by one protocol or several: the shares, their services and the rights of the folder are one change. */
export default function NewSharePage({ place: { words } }: { place: Place }) {
  const known = useLive('what a share needs', ['record:account/groups', 'record:services/services'], readKnown);
  if (known.value === undefined) return <Waiting refused={known.refused} what={t.groupsAndServices} />;
  return <NewShare known={known.value} first={words.get('folder') ?? ''} />;
}

function NewShare({ known: { groups, services }, first }: { known: Known; first: string }) {
  const folder = useSignal(first);
  const name = useSignal('');
  const by = useSignal<readonly Protocol[]>(['SMB']);
  const who = useSignal<Who>(groups.length > 0 ? 'group' : 'accounts');
  const group = useSignal(groups[0] ?? '');
  const isReadOnly = useSignal(false);
  const path = folder.value.trim().replace(/\/+$/, '');
  const called = name.value.trim() || path.slice(path.lastIndexOf('/') + 1);
  const has = (one: Protocol) => by.value.includes(one);
  const chosen = protocols.filter((one) => has(one.name));
  const requests = [
    ...(has('SMB')
      ? [
          {
            ...{ method: 'POST', path: 'sharing/cifs/' },
            body: {
              ...{ cifs_path: path, cifs_name: called, cifs_ro: isReadOnly.value },
              cifs_guestok: who.value === 'guests',
            },
          },
        ]
      : []),
    ...(has('NFS')
      ? [{ method: 'POST', path: 'sharing/nfs/', body: { nfs_paths: [path], nfs_ro: isReadOnly.value } }]
      : []),
    ...(has(t.webDAV)
      ? [
          {
            ...{ method: 'POST', path: 'sharing/webdav/' },
            body: { webdav_name: called, webdav_path: path, webdav_ro: isReadOnly.value, webdav_perm: false },
          },
        ]
      : []),
    ...chosen.flatMap(({ service }) => {
      const found = services.get(service);
      return found === undefined || found.isOn
        ? []
        : [{ method: 'PUT', path: `services/services/${found.id}/`, body: { srv_enable: true } }];
    }),
    ...(who.value === 'group' && group.value !== ''
      ? [
          {
            ...{ method: 'PUT', path: 'storage/permission/' },
            body: {
              ...{ mp_path: path, mp_acl: 'windows', mp_user_en: false, mp_group: group.value },
              mp_recursive: true,
            },
          },
        ]
      : []),
  ];
  const host = location.hostname;
  const asked: Asked = { method: 'POST', address: transactions, body: { requests }, etag: undefined };
  return (
    <>
      <PageHead up={[link('sharing'), t.sharing]} title={t.shareAFolder} about={t.draftNothingHasHappenedYet} />
      <RequestForm
        {...{ asked }}
        shown={{ requests }}
        command={asPlainCommand(asked)}
        known={['cifs_path', 'cifs_name', 'nfs_paths', 'webdav_path', 'webdav_name', 'mp_path', 'mp_group']}
        send={t.shareTheFolder}
        report={t.shared(path)}
        isIncomplete={path === '' || chosen.length === 0}
        done={() => go(link('sharing'))}
        beside={
          <a class="btn" href={link('sharing')}>
            {t.cancel}
          </a>
        }
      >
        {(problems) => {
          const wrong = [
            ...new Set(['cifs_path', 'nfs_paths', 'webdav_path', 'mp_path'].flatMap((one) => problems[one] ?? [])),
          ];
          const misnamed = [...new Set(['cifs_name', 'webdav_name'].flatMap((one) => problems[one] ?? []))];
          return (
            <>
              <TextField
                id="folder"
                label={t.folder}
                placeholder={t.mnt}
                value={folder.value}
                set={(value) => (folder.value = value)}
                problems={wrong}
                help={t.aFolderThatIsNotThere}
                beside={<PathChoice path={folder.value} of={t.folder} take={(chosen) => (folder.value = chosen)} />}
              />
              <TextField
                id="called"
                label={t.nameThatClientsSee}
                placeholder={called}
                value={name.value}
                set={(value) => (name.value = value)}
                problems={misnamed}
              />
              <fieldset class="field plain">
                <legend>{t.servedBy}</legend>
                <div class="several">
                  {protocols.map((one) => (
                    <label key={one.name} class="inline">
                      <input
                        type="checkbox"
                        checked={has(one.name)}
                        onChange={() =>
                          (by.value = has(one.name)
                            ? by.value.filter((other) => other !== one.name)
                            : [...by.value, one.name])
                        }
                      />
                      {t.forIt(one.name, one.for)}
                    </label>
                  ))}
                </div>
              </fieldset>
              <fieldset class="picks">
                <legend>{t.whoMayUseIt}</legend>
                <Pick
                  name="who"
                  isChosen={who.value === 'group'}
                  choose={() => (who.value = 'group')}
                  title={t.membersOfAGroup}
                  text={t.theyReadAndWriteAllIn}
                />
                <Pick
                  name="who"
                  isChosen={who.value === 'accounts'}
                  choose={() => (who.value = 'accounts')}
                  title={t.everyAccount}
                  text={t.theRightsOfTheFolderStay}
                />
                <Pick
                  name="who"
                  isChosen={who.value === 'guests'}
                  choose={() => (who.value = 'guests')}
                  title={t.guestsToo}
                  text={t.overSMBNobodyIsAskedFor}
                />
              </fieldset>
              {who.value === 'group' && (
                <SelectField
                  id="group"
                  label={t.group}
                  value={group.value}
                  set={(value) => (group.value = value)}
                  problems={problems['mp_group']}
                  help={t.theFolderAndAllInIt}
                >
                  {groups.length === 0 && <option value="">{t.thereIsNoGroupYet}</option>}
                  {groups.map((one) => (
                    <option key={one}>{one}</option>
                  ))}
                </SelectField>
              )}
              <label class="inline">
                <input
                  type="checkbox"
                  checked={isReadOnly.value}
                  onChange={(event) => (isReadOnly.value = event.currentTarget.checked)}
                />
                {t.clientsMayOnlyRead}
              </label>
              {path !== '' && (
                <dl class="state">
                  {has('SMB') && (
                    <div>
                      <dt>{t.clientsReachItBySMBAs}</dt>
                      <dd>
                        <code>{`\\\\${host}\\${called}`}</code> <code>{t.smb(host, called)}</code>
                      </dd>
                    </div>
                  )}
                  {has('NFS') && (
                    <div>
                      <dt>{t.byNFSAs}</dt>
                      <dd>
                        <code>{`${host}:${path}`}</code>
                      </dd>
                    </div>
                  )}
                </dl>
              )}
            </>
          );
        }}
      </RequestForm>
    </>
  );
}
