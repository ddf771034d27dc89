import { useSignal } from '@preact/signals';
import { addressOf, type Form, formOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { textIn } from '../base/json.ts';
import { useLive } from '../base/live.ts';
import { go, link } from '../base/route.ts';
import { asCommand, openBody } from '../parts/asking.ts';
import { Pick, Waiting } from '../parts/common.tsx';
import { SomeFields, useDraft } from '../parts/made-form.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RequestForm } from '../parts/request-form.tsx';
import { initialValues } from '../parts/values.ts';
import * as t from '../texts/pages/new-replication.ts';

const path = 'storage/replication';

/** Copies the snapshots of a dataset to another machine. The two exchange keys first, by a token or by hand. */
export default function NewReplicationPage() {
  const read = useLive('what a replication needs', [], async () => ({
    form: await formOf(path),
    key: textIn(await client.request('GET', `${addressOf(path)}publickey/`)),
  }));
  if (read.value?.form === undefined) return <Waiting refused={read.refused} what={t.theForm} />;
  return <NewReplication form={read.value.form} publicKey={read.value.key} />;
}

function NewReplication({ form, publicKey }: { form: Form; publicKey: string }) {
  const way = useSignal<'token' | 'hand'>('token');
  const { body: draft, set } = useDraft({});
  const isToken = way.value === 'token';
  const own = isToken
    ? ['repl_remote_token', 'repl_remote_http_port', 'repl_remote_https']
    : ['repl_remote_port', 'repl_remote_hostkey', 'repl_remote_dedicateduser_enabled', 'repl_remote_dedicateduser'];
  const wires = [
    ...['repl_filesystem', 'repl_remote_hostname', 'repl_zfs'],
    ...own,
    ...['repl_userepl', 'repl_followdelete', 'repl_limit', 'repl_begin', 'repl_end'],
  ];
  const sent = Object.fromEntries(Object.entries(draft).filter(([wire]) => wires.includes(wire)));
  const body = { ...sent, ...(isToken && { repl_remote_mode: 'SEMIAUTOMATIC' }) };
  const back = link('protection', 'list', { of: path });
  return (
    <>
      <PageHead
        up={[back, t.replicationTasks]}
        title={t.replicateToAnotherMachine}
        about={t.everyNewSnapshotOfADataset}
      />
      <RequestForm
        asked={{ method: 'POST', address: addressOf(path), body, etag: undefined }}
        shown={openBody(body, form.fields)}
        command={asCommand(form, 'create', '', body, form.fields)}
        known={wires}
        send={t.replicate}
        report={t.replicationOfIsSetUp(textIn(draft['repl_filesystem']))}
        isIncomplete={['repl_filesystem', 'repl_remote_hostname', 'repl_zfs'].some(
          (wire) => textIn(draft[wire]) === '',
        )}
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
              <legend>{t.howTheMachinesTrustEachOther}</legend>
              <Pick
                name="way"
                isChosen={isToken}
                choose={() => (way.value = 'token')}
                title={t.byAToken}
                text={t.theOtherHoldfastGivesOneAnd}
              />
              <Pick
                name="way"
                isChosen={!isToken}
                choose={() => (way.value = 'hand')}
                title={t.byHand}
                text={t.youGiveTheKeyOfThis}
              />
            </fieldset>
            {isToken ? (
              <p class="help beneath">{t.onTheOtherMachineAToken(<code>{t.commandForAToken}</code>)}</p>
            ) : (
              <div class="beneath">
                <p class="help">{t.thePublicKeyOfThisMachine}</p>
                {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard */}
                <pre class="diff" tabIndex={0}>
                  {publicKey}
                </pre>
              </div>
            )}
            <SomeFields
              fields={form.fields}
              values={{ ...initialValues(form.fields, undefined), ...draft }}
              {...{ wires, problems, set }}
            />
            <p class="help">
              {t.onlyDatasetsWithAHaveSomething(
                <a href={link('protection', 'list', { of: 'storage/task' })}>{t.scheduleOfSnapshots}</a>,
              )}
            </p>
          </>
        )}
      </RequestForm>
    </>
  );
}
