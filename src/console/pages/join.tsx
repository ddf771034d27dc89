import { addressOf, type Form, formOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { type Row, rowIn, textIn } from '../base/json.ts';
import { useLive } from '../base/live.ts';
import { go, link } from '../base/route.ts';
import { asCommand, openBody } from '../parts/asking.ts';
import { Card, Waiting } from '../parts/common.tsx';
import { SomeFields, useDraft } from '../parts/made-form.tsx';
import { RequestForm } from '../parts/request-form.tsx';

const path = 'directoryservice/activedirectory';
const wires = ['ad_domainname', 'ad_bindname', 'ad_bindpw', 'ad_netbiosname_a'];

/** Joins a domain of Active Directory, or shows to which one the machine belongs. */
export default function JoinPage() {
  const read = useLive('domain', [`record:${path}`, 'machine'], async () => ({
    form: await formOf(path),
    settings: rowIn(await client.request('GET', addressOf(path))),
  }));
  if (read.value?.form === undefined) return <Waiting refused={read.refused} what="the domain" />;
  const { form, settings } = read.value;
  return (
    <>
      <div class="row top">
        <a href={link('accounts')}>Accounts and directory</a>
        <h1>Join a domain</h1>
        <span class="soft grow">Active Directory: its accounts and groups can use the shares of this machine.</span>
        <a class="btn" href={link('accounts', 'record', { of: 'directoryservice/ldap' })}>
          LDAP instead
        </a>
      </div>
      {settings['ad_enable'] === true ? <Joined settings={settings} /> : <Join form={form} settings={settings} />}
    </>
  );
}

function Joined({ settings }: { settings: Row }) {
  return (
    <Card title={`This machine belongs to ${textIn(settings['ad_domainname'])}`}>
      <p>
        It is known there as {textIn(settings['ad_netbiosname_a'])}. To leave the domain, switch Active Directory off in
        its settings.
      </p>
      <div class="row end">
        <a class="btn primary" href={link('accounts', 'record', { of: path })}>
          Settings
        </a>
        <a class="btn" href={link('accounts')}>
          Back
        </a>
      </div>
    </Card>
  );
}

function Join({ form, settings }: { form: Form; settings: Row }) {
  const { body: changes, set } = useDraft({});
  const body = { ...changes, ad_enable: true };
  const value = (wire: string) => textIn(changes[wire] ?? settings[wire]);
  return (
    <RequestForm
      asked={{ method: 'PUT', address: addressOf(path), body, etag: undefined }}
      shown={openBody(body, form.fields)}
      command={asCommand(form, 'set', '', body, form.fields)}
      known={wires}
      send="Join"
      report={`Joined: ${value('ad_domainname')}`}
      isIncomplete={wires.slice(0, 3).some((wire) => value(wire) === '')}
      done={() => go(link('accounts', 'join'))}
      beside={
        <a class="btn" href={link('accounts')}>
          Cancel
        </a>
      }
    >
      {(problems) => (
        <>
          <p class="help beneath">
            The account of an administrator of the domain is used once, to make an account for this machine. The name
            servers of this machine have to be those of the domain, and the clocks may differ by five minutes at most.
          </p>
          <SomeFields fields={form.fields} values={{ ...settings, ...changes }} {...{ wires, problems, set }} />
          <p class="help">
            <a href={link('network', 'record', { of: 'network/globalconfiguration' })}>Name servers</a> ·{' '}
            <a href={link('accounts', 'record', { of: path })}>All settings of Active Directory</a>
          </p>
        </>
      )}
    </RequestForm>
  );
}
