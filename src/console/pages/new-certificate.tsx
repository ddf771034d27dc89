import { useSignal } from '@preact/signals';
import { type Form, formOf } from '../base/catalogue.ts';
import { listIn, textIn } from '../base/json.ts';
import { useLive } from '../base/live.ts';
import { go, link } from '../base/route.ts';
import { type Asked, asCommand, asPlainCommand, openBody } from '../parts/asking.ts';
import { Waiting } from '../parts/common.tsx';
import { TextField } from '../parts/labelled.tsx';
import { SomeFields, useDraft } from '../parts/made-form.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RequestForm } from '../parts/request-form.tsx';
import * as t from '../texts/pages/new-certificate.ts';

const path = 'system/certificate';

const ways = [
  { way: 'acme', title: t.fromAPublicAuthority, about: t.suchAsLetsEncryptItIs },
  { way: 'csr', title: t.fromAnAuthorityOfYourOwn, about: t.makesARequestThatYourAuthority },
  { way: 'import', title: t.oneThatIsThere, about: t.aCertificateAndItsPrivateKey },
] as const;
type Way = (typeof ways)[number]['way'];

/** A certificate: from a public authority, from one of the organisation, or one that is there already. */
export default function NewCertificatePage() {
  const form = useLive('form of certificates', [], () => formOf(path));
  const way = useSignal<Way>('acme');
  if (form.value === undefined) return <Waiting refused={form.refused} what={t.theForm} />;
  return (
    <>
      <PageHead
        up={[link('system', 'list', { of: path }), t.certificates]}
        title={t.newCertificate}
        about={t.theConsoleHasOneOfIts}
      />
      <fieldset class="picks three">
        <legend class="unseen">{t.whereItComesFrom}</legend>
        {ways.map((one) => (
          <label key={one.way} class="pick">
            <input type="radio" name="way" checked={way.value === one.way} onChange={() => (way.value = one.way)} />
            <b>{one.title}</b>
            <span class="soft">{one.about}</span>
          </label>
        ))}
      </fieldset>
      {way.value === 'acme' ? <Public /> : <Described key={way.value} form={form.value} way={way.value} />}
    </>
  );
}

const done = () => go(link('system', 'list', { of: path }));
const cancel = (
  <a class="btn" href={link('system', 'list', { of: path })}>
    {t.cancel}
  </a>
);

function Public() {
  const { body: draft, set } = useDraft({ name: 'public', names: [location.hostname] });
  const isAgreed = useSignal(false);
  const body = { ...draft, terms_agreed: isAgreed.value };
  const asked: Asked = { method: 'POST', address: '/api/holdfast/v1/acme', body, etag: undefined };
  const names = listIn(draft['names']).map(textIn);
  const field = (id: 'name' | 'names' | 'contact', title: string, help: string, problems: readonly string[] = []) => (
    <TextField
      {...{ id, problems, help }}
      label={title}
      value={id === 'names' ? names.join(' ') : textIn(draft[id])}
      set={(value) => set(id, id === 'names' ? value.split(/\s/) : value)}
    />
  );
  return (
    <RequestForm
      {...{ asked, done }}
      shown={body}
      command={asPlainCommand(asked)}
      known={['name', 'names', 'contact']}
      send={t.orderIt}
      report={t.theCertificateIsOrdered}
      isIncomplete={!isAgreed.value || names.join('') === ''}
      beside={cancel}
    >
      {(problems) => (
        <>
          {field('name', t.nameHere, t.howItIsCalledInLists, problems['name'])}
          {field('names', t.namesOfThisMachine, t.withBlanksBetweenThemTheAuthority, problems['names'])}
          {field('contact', t.mailAddress, t.theAuthorityWarnsThereItCan, problems['contact'])}
          <label class="inline">
            <input
              type="checkbox"
              checked={isAgreed.value}
              onChange={(event) => (isAgreed.value = event.currentTarget.checked)}
            />
            {t.iAgreeToTheTermsOf}
          </label>
          <p class="help">
            {t.forNamesThatAreNotReached(
              <a href={link('system', 'record', { of: 'system/settings' })}>{t.theSettingsOfTheSystem}</a>,
            )}
          </p>
        </>
      )}
    </RequestForm>
  );
}

const described = {
  csr: {
    verb: 'create-csr',
    segment: 'csr',
    send: t.makeTheRequest,
    first: { cert_digest_algorithm: 'SHA256', cert_key_length: 2048, cert_common: location.hostname },
    wires: [
      ...['cert_name', 'cert_common', 'cert_san', 'cert_organization', 'cert_city', 'cert_state', 'cert_country'],
      'cert_email',
    ],
    about: t.yourAuthorityGetsTheRequestAs,
  },
  import: {
    verb: 'import',
    segment: 'import',
    send: t.importIt,
    first: {},
    wires: ['cert_name', 'cert_certificate', 'cert_privatekey', 'cert_passphrase', 'cert_passphrase2'],
    about: t.theCertificateComesFirstThenThose,
  },
} as const;

function Described({ form, way }: { form: Form; way: 'csr' | 'import' }) {
  const { verb, segment, send, first, wires, about } = described[way];
  const { body, set } = useDraft(first);
  const command = form.commands.find((one) => one.verb === verb);
  const fields = command?.fields ?? [];
  return (
    <RequestForm
      asked={{ method: 'POST', address: `/api/v1.0/${path}/${segment}/`, body, etag: undefined }}
      shown={openBody(body, fields)}
      command={asCommand(form, verb, '', body, fields)}
      known={wires}
      {...{ send, done }}
      report={t.madeTheCertificate(textIn(body['cert_name']))}
      beside={cancel}
    >
      {(problems) => (
        <>
          <p class="help beneath">{about}</p>
          <SomeFields {...{ fields, wires, problems, set }} values={body} />
        </>
      )}
    </RequestForm>
  );
}
