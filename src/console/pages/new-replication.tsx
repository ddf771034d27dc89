import { useSignal } from '@preact/signals';
import { addressOf, type Form, formOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { textIn } from '../base/json.ts';
import { useLive } from '../base/live.ts';
import { go, link } from '../base/route.ts';
import { asCommand, openBody } from '../parts/asking.ts';
import { Waiting } from '../parts/common.tsx';
import { SomeFields, useDraft } from '../parts/made-form.tsx';
import { RequestForm } from '../parts/request-form.tsx';
import { initialValues } from '../parts/values.ts';

const path = 'storage/replication';

/** Copies the snapshots of a dataset to another machine. The two exchange keys first, by a token or by hand. */
export default function NewReplicationPage() {
  const read = useLive('what a replication needs', [], async () => ({
    form: await formOf(path),
    key: textIn(await client.request('GET', `${addressOf(path)}publickey/`)),
  }));
  if (read.value?.form === undefined) return <Waiting refused={read.refused} what="the form" />;
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
      <div class="row top">
        <a href={back}>Replication tasks</a>
        <h1>Replicate to another machine</h1>
        <span class="soft grow">Every new snapshot of a dataset is copied, each time only what has changed.</span>
      </div>
      <RequestForm
        asked={{ method: 'POST', address: addressOf(path), body, etag: undefined }}
        shown={openBody(body, form.fields)}
        command={asCommand(form, 'create', '', body, form.fields)}
        known={wires}
        send="Replicate"
        report={`Replication of ${textIn(draft['repl_filesystem'])} is set up`}
        isIncomplete={['repl_filesystem', 'repl_remote_hostname', 'repl_zfs'].some(
          (wire) => textIn(draft[wire]) === '',
        )}
        done={() => go(back)}
        beside={
          <a class="btn" href={back}>
            Cancel
          </a>
        }
      >
        {(problems) => (
          <>
            <fieldset class="picks">
              <legend>How the machines trust each other</legend>
              <label class="pick">
                <input type="radio" name="way" checked={isToken} onChange={() => (way.value = 'token')} />
                <b>By a token</b>
                <span class="soft">The other Holdfast gives one, and the keys are exchanged now.</span>
              </label>
              <label class="pick">
                <input type="radio" name="way" checked={!isToken} onChange={() => (way.value = 'hand')} />
                <b>By hand</b>
                <span class="soft">You give the key of this machine to the other one.</span>
              </label>
            </fieldset>
            {isToken ? (
              <p class="help beneath">
                On the other machine: <code>holdfast api POST /api/holdfast/v1/tokens</code>. A token is valid once, for
                some minutes.
              </p>
            ) : (
              <div class="beneath">
                <p class="help">The public key of this machine, for the account of the other one:</p>
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
              Only datasets with a{' '}
              <a href={link('protection', 'list', { of: 'storage/task' })}>schedule of snapshots</a> have something to
              copy.
            </p>
          </>
        )}
      </RequestForm>
    </>
  );
}
