import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { components } from '../../../clients/typescript/src/index.ts';
import { client } from '../base/client.ts';
import { isRow, listIn } from '../base/json.ts';
import { useLive } from '../base/live.ts';
import * as t from '../texts/parts/preview.ts';
import { type Asked, asFile, asRequest } from './asking.ts';

export type Step = components['schemas']['PlannedStep'];

/** What a request would do to the machine. Nothing happens. */
export async function planOf(asked: Asked): Promise<readonly Step[]> {
  return (await planWithToken(asked)).steps;
}

interface Plan {
  readonly steps: readonly Step[];
  /** Sent with the request, it makes the appliance refuse what would do something else by then. */
  readonly token: string;
}

async function planWithToken({ method, address, body }: Asked): Promise<Plan> {
  const { body: steps, headers } = await client.exchange('POST', '/api/holdfast/v1/plan', {
    body: { method, path: address, details: true, ...(body === undefined ? {} : { body }) },
  });
  return { steps: listIn(steps).filter(isStep), token: headers.get(planHeader) ?? '' };
}

const isStep = (one: unknown): one is Step => isRow(one) && Array.isArray(one['files']);

export const planHeader = 'x-holdfast-plan';

/** The plan of a request that destroys, made again whenever the machine changes. Others have a plan when it is asked for. */
export function useDestroyingPlan(asked: Asked | undefined) {
  return useLive(`plan ${JSON.stringify(asked)}`, ['machine', 'revisions'], async () =>
    asked === undefined ? undefined : planWithToken(asked),
  );
}

const tabs = [
  ['plan', t.whatWillHappen],
  ['request', t.asRequest],
  ['command', t.asCommand],
  ['file', t.asFile],
] as const;
type Tab = (typeof tabs)[number][0];

interface PreviewProps {
  readonly asked: Asked;
  /** The body with its secrets hidden. */
  readonly shown: unknown;
  readonly command: string;
  readonly steps: readonly Step[] | undefined;
  /** Whether something was changed since the preview. */
  readonly isOld: boolean;
  readonly children: ComponentChildren;
}

/** What is about to be sent: what it will do, and the same as request, command and file. */
export function Preview({ asked, shown, command, steps, isOld, children }: PreviewProps) {
  const tab = useSignal<Tab>('plan');
  const choose = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    const index = tabs.findIndex(([name]) => name === tab.value);
    tab.value = tabs[(index + step + tabs.length) % tabs.length]?.[0] ?? 'plan';
    document.getElementById(`tab-${tab.value}`)?.focus();
  };
  return (
    <section class="card preview" aria-label={t.whatIsAboutToBeSent}>
      <div class="tabs" role="tablist" aria-label={t.waysToSeeIt} onKeyDown={choose}>
        {tabs.map(([name, title]) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-selected={tab.value === name}
            aria-controls="tab-panel"
            tabIndex={tab.value === name ? 0 : -1}
            onClick={() => (tab.value = name)}
          >
            {title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${tab.value}`}>
        {tab.value === 'plan' && <Steps steps={steps} isOld={isOld} />}
        {tab.value === 'request' && <Code text={asRequest(asked, shown)} />}
        {tab.value === 'command' && <Code text={command} />}
        {tab.value === 'file' && (
          <>
            <Code text={asFile(asked, shown)} />
            <p class="help">{t.sendItToPOSTApiHoldfast}</p>
          </>
        )}
      </div>
      {children}
    </section>
  );
}

function Code({ text }: { text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <pre class="diff" tabIndex={0}>
      {text}
    </pre>
  );
}

export function Steps({ steps, isOld }: { steps: readonly Step[] | undefined; isOld: boolean }) {
  if (steps === undefined) return <p class="soft">{t.previewAsksTheApplianceWhatThis}</p>;
  return (
    <>
      {isOld && <p class="err">{t.thisIsWhatWasAskedBefore}</p>}
      {steps.length === 0 && <p>{t.onlyTheRecordIsStoredNothing}</p>}
      <ol class="steps">
        {steps.map((step, index) => (
          <OneStep key={`${index} ${step.title}`} step={step} />
        ))}
      </ol>
    </>
  );
}

const done = { start: t.starts, stop: t.stops, restart: t.restarts, reload: t.reloads };

function OneStep({ step }: { step: Step }) {
  const { title, files, services, sessions, reversible } = step;
  return (
    <li>
      <span aria-hidden="true">{files.length > 0 ? '+' : services.length > 0 ? '↻' : '→'}</span>
      <div>
        <span>{title}</span>
        {!reversible && <span class="n">{t.cannotBeTakenBack}</span>}
        {files.map(({ path, diff }) => (
          <div key={path}>
            <code>{path}</code>
            {diff == null ? <p class="n">{t.itsContentIsNotShownHere}</p> : <Diff text={diff} />}
          </div>
        ))}
        {services.map(({ service, action }) => (
          <p key={service} class={action === 'reload' || action === 'start' ? 'n' : 'warn'}>
            {done[action]} {service}.{action === 'reload' && t.noClientIsInterrupted}
          </p>
        ))}
        {sessions.map((one) => (
          <p key={one} class="bad">
            {t.cutsOff(one)}
          </p>
        ))}
      </div>
    </li>
  );
}

/** A unified diff without its head. */
function Diff({ text }: { text: string }) {
  const lines = text.split('\n').filter((line) => !/^(---|\+\+\+|@@|Index:|=====|\\)/.test(line));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <pre class="diff" tabIndex={0}>
      {lines.map((line, index) => (
        <span key={index} class={line.startsWith('+') ? 'a' : line.startsWith('-') ? 'r' : ''}>
          {`${line}\n`}
        </span>
      ))}
    </pre>
  );
}
