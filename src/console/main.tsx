/** The console: the first thing that a browser loads. Pages are loaded when they are opened. */
import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { person, recognise } from './base/session.ts';
import { Shell } from './shell/shell.tsx';
import { SignIn } from './shell/sign-in.tsx';
import * as t from './texts/main.ts';

function Console() {
  useEffect(() => void recognise(), []);
  if (person.value === undefined) return <p class="starting soft">{t.askingTheAppliance}</p>;
  return person.value === null ? <SignIn /> : <Shell name={person.value.name} />;
}

document.body.replaceChildren();
render(<Console />, document.body);
