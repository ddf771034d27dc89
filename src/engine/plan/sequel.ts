import type { Sequel, Task } from '../declare/resource.ts';

/** The task that performs the acts that follow a change. */
export function taskOf({ title, subject, steps }: Sequel): Task {
  return {
    title,
    subject,
    async run(work) {
      for (const step of steps) await work.step(step);
      return {};
    },
  };
}
