import { useSignal } from '@preact/signals';
import { client } from '../base/client.ts';
import { useLive } from '../base/live.ts';
import { refusalOf } from '../base/problem.ts';
import { go, link, type Place } from '../base/route.ts';
import { type Asked, asPlainCommand } from '../parts/asking.ts';
import { Pick, Waiting } from '../parts/common.tsx';
import { TextField } from '../parts/labelled.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RequestForm } from '../parts/request-form.tsx';
import { folderOf, join, mountpointOf, nameOf, partsOf } from '../parts/snapshot-files.ts';
import * as t from '../texts/pages/restore-file.ts';

/** `may (monday).odt` beside `may.odt`. */
function besideOf(path: string, snapshot: string, kind: string): string {
  const name = nameOf(path);
  const dot = kind === 'file' ? name.lastIndexOf('.') : -1;
  const at = dot > 0 ? dot : name.length;
  return join(folderOf(path), `${name.slice(0, at)} (${snapshot})${name.slice(at)}`);
}

/** Whether something has this path in the dataset now. */
async function isThere(dataset: string, path: string): Promise<boolean> {
  const mountpoint = await mountpointOf(dataset);
  const query = { path: join(mountpoint, folderOf(path)).replace(/\/$/, ''), files: true };
  try {
    const found = await client.get('/api/holdfast/v1/folders', {
      query: { ...query, filter: [`path=${join(mountpoint, path)}`] },
    });
    return found.length > 0;
  } catch (error) {
    // Its folder may be gone too.
    if (refusalOf(error).status === 400) return false;
    throw error;
  }
}

/** Gets one file or folder back from a snapshot. */
export default function RestoreFilePage({ place: { words } }: { place: Place }) {
  const snapshot = words.get('snapshot') ?? '';
  const path = words.get('path') ?? '';
  const kind = words.get('kind') ?? 'file';
  const [dataset, name] = partsOf(snapshot);
  const there = useLive(`is there ${dataset} ${path}`, [], () => isThere(dataset, path));
  const way = useSignal<'place' | 'beside'>('place');
  const beside = useSignal(besideOf(path, name, kind));
  if (there.value === undefined) return <Waiting refused={there.refused} what={t.whatIsThereNow} />;
  const isBeside = way.value === 'beside';
  const replaces = there.value && !isBeside;
  const body = { snapshot, path, ...(isBeside && { to: beside.value }), ...(replaces && { replaces }) };
  const asked: Asked = { method: 'POST', address: '/api/holdfast/v1/snapshots/restore', body, etag: undefined };
  const back = link('storage', 'files', { snapshot, path: folderOf(path) });
  return (
    <>
      <PageHead up={[back, t.filesOf(name)]} title={t.restore(nameOf(path))} about={t.ofAsItWasAt(dataset, name)} />
      <RequestForm
        {...{ asked }}
        shown={body}
        command={asPlainCommand(asked)}
        known={['to']}
        send={isBeside ? t.restoreBesideIt : replaces ? t.replaceWhatIsThere : t.restoreIt}
        report={t.restored(isBeside ? beside.value : path)}
        isIncomplete={isBeside && beside.value === ''}
        done={() => go(back)}
        beside={
          <a class="btn" href={back}>
            {t.cancel}
          </a>
        }
      >
        {(problems) => (
          <>
            <fieldset class="picks">
              <legend class="unseen">{t.where}</legend>
              <Pick
                name="way"
                isChosen={!isBeside}
                choose={() => (way.value = 'place')}
                title={t.whereItWas}
                text={there.value ? t.whatIsThereNowIsReplaced : t.nothingHasThisPathNow}
              />
              <Pick
                name="way"
                isChosen={isBeside}
                choose={() => (way.value = 'beside')}
                title={t.underAnotherName}
                text={t.whatIsThereNowStaysAs}
              />
            </fieldset>
            {isBeside ? (
              <TextField
                id="beside"
                label={t.pathIn(dataset)}
                value={beside.value}
                set={(value) => (beside.value = value)}
                problems={problems['to']}
              />
            ) : (
              <>
                <p class="beneath">
                  <code>{path}</code>
                </p>
                <p class="err">{problems['to']?.join(' ')}</p>
              </>
            )}
            <p class="help">{t.ownerPermissionsAndTimesComeBack}</p>
          </>
        )}
      </RequestForm>
    </>
  );
}
