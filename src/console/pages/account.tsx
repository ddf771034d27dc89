import { useSignal } from '@preact/signals';
import { addressOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { exactly } from '../base/format.ts';
import { rowsIn, textIn } from '../base/json.ts';
import { useLive } from '../base/live.ts';
import { notify } from '../base/notices.ts';
import { refusalOf } from '../base/problem.ts';
import { link } from '../base/route.ts';
import { leave, person, recognise } from '../base/session.ts';
import { Card, Scroller, Waiting } from '../parts/common.tsx';
import { TextField } from '../parts/labelled.tsx';
import { PageHead } from '../parts/page-head.tsx';
import * as t from '../texts/pages/account.ts';

/** The own account: its password, its second factor, and where it is signed in. */
export default function AccountPage() {
  const name = person.value?.name ?? '';
  const changing = useLive(`password of ${name}`, [], () => addressOfPassword(name));
  return (
    <>
      <PageHead
        title={person.value?.name}
        about={person.value?.isAdministrator === true ? t.mayDoEverything : t.hasLimitedRights}
      >
        <button type="button" onClick={() => void leave()}>
          {t.signOut}
        </button>
      </PageHead>
      <div class="cards three">
        <Card title={t.password}>
          <p class="soft">{t.thePasswordIsThatOfThe}</p>
          <div class="row end">
            <a class="btn" href={changing.value ?? link('accounts', 'list', { of: 'account/users' })}>
              {t.changeThePassword}
            </a>
          </div>
        </Card>
        <Factor />
        <Sessions />
      </div>
    </>
  );
}

/** Where the password of an account of this machine is set; undefined for an account of a directory. */
async function addressOfPassword(name: string): Promise<string | undefined> {
  const chosen = new URLSearchParams({ filter: `bsdusr_username=${name}`, fields: 'id' });
  const [own] = rowsIn(await client.request('GET', `${addressOf('account/users')}?${chosen}`));
  const words = { of: 'account/users', key: textIn(own?.['id']), verb: 'set-password' };
  return own === undefined ? undefined : link('accounts', 'command', words);
}

function Factor() {
  const begun = useSignal<{ readonly secret: string; readonly qr: string } | undefined>(undefined);
  const code = useSignal('');
  const recovery = useSignal<readonly string[]>([]);
  const refused = useSignal('');
  const carry = async (work: () => Promise<void>) => {
    refused.value = '';
    try {
      await work();
    } catch (error) {
      refused.value = refusalOf(error).sentence;
    }
  };
  const begin = () =>
    carry(async () => {
      const { secret, qr } = await client.post('/api/holdfast/v1/people/current/factor');
      begun.value = { secret, qr: `data:image/svg+xml;base64,${btoa(qr)}` };
    });
  const confirm = () =>
    carry(async () => {
      const made = await client.put('/api/holdfast/v1/people/current/factor', { body: { code: code.value } });
      recovery.value = made.recovery_codes;
      begun.value = undefined;
      code.value = '';
      await recognise();
    });
  const remove = () =>
    carry(async () => {
      await client.post('/api/holdfast/v1/people/current/factor/remove', { body: { code: code.value } });
      code.value = '';
      await recognise();
      notify(t.theSecondFactorWasRemoved);
    });
  const has = person.value?.hasFactor === true;
  return (
    <Card title={t.secondFactor}>
      {recovery.value.length > 0 && (
        <>
          <p>{t.keepTheseRecoveryCodesEachIs}</p>
          <ul class="codes">
            {recovery.value.map((one) => (
              <li key={one}>
                <code>{one}</code>
              </li>
            ))}
          </ul>
        </>
      )}
      {!has && begun.value === undefined && (
        <>
          <p class="soft">{t.loginsWithThePasswordNeedNo}</p>
          <div class="row end">
            <button type="button" onClick={() => void begin()}>
              {t.setUpDots}
            </button>
          </div>
        </>
      )}
      {begun.value !== undefined && (
        <>
          <p>{t.readThisWithAnAuthenticatorProgram(<code>{begun.value.secret}</code>)}</p>
          <img src={begun.value.qr} alt={t.qrCodeOfTheSecret} width="180" height="180" />
        </>
      )}
      {(has || begun.value !== undefined) && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void (has ? remove() : confirm());
          }}
        >
          <TextField
            id="code"
            label={t.codeOfTheProgram}
            isNumber
            autocomplete="one-time-code"
            value={code.value}
            set={(value) => (code.value = value)}
          />
          <button type="submit" class={has ? 'danger' : 'primary'} disabled={code.value === ''}>
            {has ? t.removeTheSecondFactor : t.confirm}
          </button>
        </form>
      )}
      <p class="err" role="alert">
        {refused.value}
      </p>
    </Card>
  );
}

function Sessions() {
  const sessions = useLive('sessions', [], () => client.get('/api/holdfast/v1/sessions'));
  const end = async (id: string) => {
    await client
      .delete('/api/holdfast/v1/sessions/{id}', { path: { id } })
      .catch((error: unknown) => notify(refusalOf(error).sentence, 'refused'));
    sessions.again();
  };
  return (
    <Card title={t.sessions}>
      {sessions.value === undefined ? (
        <Waiting refused={sessions.refused} what={t.theSessions} />
      ) : (
        <Scroller label={t.sessions}>
          <table>
            <tbody>
              {sessions.value.map(({ id, account, address, created }) => (
                <tr key={id}>
                  <td>
                    {account} · {address}
                    <br />
                    <span class="soft">{exactly(created)}</span>
                  </td>
                  <td class="num">
                    <button
                      type="button"
                      class="quiet"
                      aria-label={t.endTheSessionFrom(address, exactly(created))}
                      onClick={() => void end(id)}
                    >
                      {t.end}
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroller>
      )}
    </Card>
  );
}
