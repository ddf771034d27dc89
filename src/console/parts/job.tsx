/** How far a job is: its steps, and when it will probably end. */
import type { components } from '../../../clients/typescript/src/index.ts';
import { now } from '../base/contact.ts';
import { until } from '../base/format.ts';
import * as t from '../texts/parts/job.ts';

export type Job = components['schemas']['Job'];

interface Progress extends Pick<Job, 'percent' | 'estimated_end' | 'progress'> {
  readonly steps: readonly { readonly title: string; readonly state: string }[];
}

/** `write the files · step 2 of 3 · 40 % · in 2 min`: what is known of it. */
export function progressOf({ percent, estimated_end: end, progress, steps }: Progress): string {
  const at = steps.findIndex(({ state }) => state === 'running');
  return [
    progress || (steps[at]?.title ?? ''),
    at >= 0 && steps.length > 1 ? t.step(at + 1, steps.length) : '',
    percent === null ? '' : `${percent} %`,
    end === null ? '' : until(end, now.value),
  ]
    .filter((one) => one !== '')
    .join(' · ');
}

/** A job that runs. */
export function JobLine({ job }: { job: Job }) {
  const { title, percent } = job;
  return (
    <div class="field">
      <p>{title}</p>
      <progress aria-label={title} {...(percent === null ? {} : { value: percent, max: 100 })} />
      <p class="soft">{progressOf(job)}</p>
    </div>
  );
}

/** The job of the request that this page has sent. Without one nothing is shown. */
export function Working({ title, job }: { title: string; job: Job | undefined }) {
  return (
    <div role="status" class="working">
      {title !== '' && (
        <>
          <p class="soft">
            {job === undefined ? title : [job.title, progressOf(job)].filter((one) => one !== '').join(' · ')}
          </p>
          {job !== undefined && (
            <progress aria-label={job.title} {...(job.percent === null ? {} : { value: job.percent, max: 100 })} />
          )}
        </>
      )}
    </div>
  );
}
