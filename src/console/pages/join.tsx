import { addressOf, type Form, formOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { type Row, rowIn, textIn } from '../base/json.ts';
import { useLive } from '../base/live.ts';
import { go, link } from '../base/route.ts';
import { asCommand, openBody } from '../parts/asking.ts';
import { Card, Waiting } from '../parts/common.tsx';
import { SomeFields, useDraft } from '../parts/made-form.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RequestForm } from '../parts/request-form.tsx';
import * as t from '../texts/pages/join.ts';

const path = 'directoryservice/activedirectory';
const wires = ['ad_domainname', 'ad_bindname', 'ad_bindpw', 'ad_netbiosname_a'];

/** Joins a domain of Active Directory, or shows to which one the machine belongs. */
export default function JoinPage() {
  const read = useLive('domain', [`record:${path}`, 'machine'], async () => ({
    form: await formOf(path),
    settings: rowIn(await client.request('GET', addressOf(path))),
  }));
  if (read.value?.form === undefined) return <Waiting refused={read.refused} what={t.theDomain} />;
  const { form, settings } = read.value;
  return (
    <>
      <PageHead
        up={[link('accounts'), t.accountsAndDirectory]}
        title={t.joinADomain}
        about={t.activeDirectoryItsAccountsAndGroups}
      >
        <a class="btn" href={link('accounts', 'record', { of: 'directoryservice/ldap' })}>
          {t.ldapInstead}
        </a>
      </PageHead>
      {settings['ad_enable'] === true ? <Joined settings={settings} /> : <Join form={form} settings={settings} />}
    </>
  );
}

function Joined({ settings }: { settings: Row }) {
  return (
    <Card title={t.thisMachineBelongsTo(textIn(settings['ad_domainname']))}>
      <p>{t.itIsKnownThereAsTo(textIn(settings['ad_netbiosname_a']))}</p>
      <div class="row end">
        <a class="btn primary" href={link('accounts', 'record', { of: path })}>
          {t.settings}
        </a>
        <a class="btn" href={link('accounts')}>
          {t.back}
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
      send={t.join}
      report={t.joined(value('ad_domainname'))}
      isIncomplete={wires.slice(0, 3).some((wire) => value(wire) === '')}
      done={() => go(link('accounts', 'join'))}
      beside={
        <a class="btn" href={link('accounts')}>
          {t.cancel}
        </a>
      }
    >
      {(problems) => (
        <>
          <p class="help beneath">{t.theAccountOfAnAdministratorOf}</p>
          <SomeFields fields={form.fields} values={{ ...settings, ...changes }} {...{ wires, problems, set }} />
          <p class="help">
            <a href={link('network', 'record', { of: 'network/globalconfiguration' })}>{t.nameServers}</a> ·{' '}
            <a href={link('accounts', 'record', { of: path })}>{t.allSettingsOfActiveDirectory}</a>
          </p>
        </>
      )}
    </RequestForm>
  );
}
