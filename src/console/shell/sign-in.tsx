import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { signIn } from '../base/client.ts';
import { refusalOf } from '../base/problem.ts';
import { hasEnded, recognise } from '../base/session.ts';
import * as t from '../texts/shell/sign-in.ts';

/** The sign-in, with the code of a second factor where the account has one. */
export function SignIn() {
  const user = useSignal('root');
  const password = useSignal('');
  const code = useSignal('');
  const needsCode = useSignal(false);
  const isBusy = useSignal(false);
  const refused = useSignal('');
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), [needsCode.value]);

  const send = async () => {
    isBusy.value = true;
    refused.value = '';
    try {
      const outcome = await signIn(user.value, password.value, code.value);
      if (outcome === 'done') return await recognise();
      const isFirst = outcome === 'code' && !needsCode.value;
      needsCode.value = outcome === 'code' || needsCode.value;
      if (outcome === 'refused') refused.value = t.thisNameAndPasswordAreNot;
      else if (!isFirst) refused.value = t.thisCodeIsWrongOrWas;
    } catch (error) {
      refused.value = refusalOf(error).sentence;
    } finally {
      isBusy.value = false;
    }
  };

  return (
    <main class="gate">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <h1>{t.holdfast}</h1>
        <p class="soft">{hasEnded.value ? t.theSessionHasEndedSignIn : t.signInToTheFirstPassword(location.host)}</p>
        <div class="field">
          <label for="user">{t.account}</label>
          <input
            id="user"
            autocomplete="username"
            value={user.value}
            onInput={(event) => (user.value = event.currentTarget.value)}
          />
        </div>
        <div class="field">
          <label for="password">{t.password}</label>
          <input
            id="password"
            type="password"
            autocomplete="current-password"
            ref={needsCode.value ? null : first}
            value={password.value}
            onInput={(event) => (password.value = event.currentTarget.value)}
          />
        </div>
        {needsCode.value && (
          <div class="field">
            <label for="code">{t.codeOfTheSecondFactor}</label>
            <input
              id="code"
              inputMode="numeric"
              autocomplete="one-time-code"
              ref={first}
              value={code.value}
              onInput={(event) => (code.value = event.currentTarget.value)}
            />
            <p class="help">{t.sixDigitsOfYourAuthenticatorProgram}</p>
          </div>
        )}
        <p class="err" role="alert">
          {refused.value}
        </p>
        <button type="submit" class="primary" disabled={isBusy.value || user.value === '' || password.value === ''}>
          {isBusy.value ? t.signingIn : t.signIn}
        </button>
      </form>
    </main>
  );
}
