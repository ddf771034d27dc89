import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { client } from '../base/client.ts';
import { touch } from '../base/live.ts';
import { notifyChange } from '../base/notices.ts';
import { type Refusal, refusalOf } from '../base/problem.ts';
import * as t from '../texts/parts/request-form.ts';
import type { Asked } from './asking.ts';
import { type Job, Working } from './job.tsx';
import { Preview, planOf, type Step } from './preview.tsx';
import { Refused } from './refused.tsx';

export type Problems = Readonly<Record<string, readonly string[]>>;

interface RequestFormProps {
  readonly asked: Asked;
  /** The body with its secrets hidden. */
  readonly shown: unknown;
  readonly command: string;
  /** The fields under which the form shows what is wrong with them. */
  readonly known: readonly string[];
  /** The text of the button that sends it. */
  readonly send: string;
  /** Whether the form knows that the request cannot be sent yet. */
  readonly isIncomplete?: boolean;
  /** What a notice reports after it. */
  readonly report: string;
  /** What is sent, if that is more than the request. */
  readonly around?: <T>(work: () => Promise<T>) => Promise<T>;
  done(): void;
  /** Buttons beside the one that sends it. */
  readonly beside?: ComponentChildren;
  children(problems: Problems): ComponentChildren;
}

/** A form made by hand over one request: its fields, what it will do, and the buttons. */
export function RequestForm(props: RequestFormProps) {
  const { asked, shown, command, known, isIncomplete = false } = props;
  const refusal = useSignal<Refusal | undefined>(undefined);
  const preview = useSignal<{ readonly steps: readonly Step[]; readonly of: string } | undefined>(undefined);
  const progress = useSignal('');
  const job = useSignal<Job | undefined>(undefined);
  const draft = JSON.stringify(asked);
  const look = async () => {
    refusal.value = undefined;
    try {
      preview.value = { steps: await planOf(asked), of: draft };
    } catch (error) {
      preview.value = undefined;
      refusal.value = refusalOf(error);
    }
  };
  const send = async () => {
    refusal.value = undefined;
    progress.value = t.theApplianceWorks;
    const around = props.around ?? ((work) => work());
    try {
      const { headers } = await around(() =>
        client.exchange(asked.method, asked.address, {
          body: asked.body,
          progress: (now) => (job.value = now),
        }),
      );
      touch('revisions', 'machine', 'jobs');
      await notifyChange(props.report, headers);
      props.done();
    } catch (error) {
      refusal.value = refusalOf(error);
    } finally {
      progress.value = '';
      job.value = undefined;
    }
  };
  return (
    <form
      class="cards sheet"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <section class="card" aria-label={t.fields}>
        {props.children(refusal.value?.fields ?? {})}
      </section>
      <Preview
        {...{ asked, shown, command }}
        steps={preview.value?.steps}
        isOld={preview.value !== undefined && preview.value.of !== draft}
      >
        <Refused refusal={refusal.value} known={known} />
        <Working title={progress.value} job={job.value} />
        <div class="row end">
          <button type="submit" class="primary" disabled={progress.value !== '' || isIncomplete}>
            {props.send}
          </button>
          <button type="button" disabled={isIncomplete} onClick={() => void look()}>
            {t.preview}
          </button>
          {props.beside}
        </div>
      </Preview>
    </form>
  );
}
