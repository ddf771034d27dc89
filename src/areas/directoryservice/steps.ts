import type { Running } from '../../engine/declare/step.ts';
import { unwatched } from '../../engine/plan/runner.ts';
import { act, ensure, type Restoring, type StepMaker, type Texts } from '../../engine/plan/steps.ts';
import type { Joining } from '../../host/ports/domain.ts';
import { messageOf } from '../../lib/text.ts';

/** The steps that join a domain and leave it. The journal keeps no account of the domain. */

export interface Membership extends Texts<'domain'> {
  readonly joining: Joining;
  readonly log: (line: string) => void;
}

export const joinDomain = ensure<'domain', Membership>({
  kind: 'join domain',
  keeps: ['domain'],
  isExclusive: true,
  title: ({ domain }) => `join the domain ${domain}`,
  is: async (host, { domain }) => (await host.domain.membership())?.domain === domain.toLowerCase(),
  make: (host, { joining, log }) => host.domain.join(joining, log),
  // After a crash the account of the machine stays in the domain. The next time that the machine joins uses it.
  unmake: (host, _, { args }) =>
    args === undefined ? host.domain.forget() : host.domain.leave(args.joining, args.log),
  touches: () => ['membership'],
  foresees: ({ domain, joining }, { facts }) => ({
    facts: {
      ...facts,
      membership: { domain: domain.toLowerCase(), machine: joining.netbiosName.toLowerCase() },
    },
  }),
});

/**
 * Ends the membership on this machine, whether or not the domain answers. A start that finds it begun has no
 * account with which it could notify the domain.
 */
export const endMembership = act<'domain', Omit<Membership, 'log'>>({
  kind: 'end membership',
  keeps: ['domain'],
  title: ({ domain }) => `end the membership in the domain ${domain}`,
  isDone: async (host) => (await host.domain.membership()) === undefined,
  async perform(host, _, args, running = unwatched) {
    const log = logOf(running);
    try {
      if (args !== undefined) {
        await host.domain.leave(args.joining, log);
        return;
      }
    } catch (error) {
      log(
        `${messageOf(error)} The domain could not be notified and still has an account for ${args?.joining.netbiosName}.`,
      );
    }
    await host.domain.forget();
  },
  touches: () => ['membership'],
});

/** Leaves a domain. `restores` joins it again after a crash, with the account that the settings still have. */
export function leaving(restores: (engine: Restoring) => Promise<void>): StepMaker<Membership> {
  return ensure<'domain', Membership>({
    kind: 'leave domain',
    keeps: ['domain'],
    isExclusive: true,
    title: ({ domain }) => `leave the domain ${domain}`,
    is: async (host) => (await host.domain.membership()) === undefined,
    make: (host, { joining, log }) => host.domain.leave(joining, log),
    async unmake(host, _, { args }) {
      if (args !== undefined) await host.domain.join(args.joining, args.log);
    },
    restores,
    // It touches no facts, so a change after it that fails is taken back with those of a member.
  });
}

/** Adds each line to the progress text of the job, which keeps the earlier lines. */
export function logOf(work: Pick<Running, 'progress'>): (line: string) => void {
  const lines: string[] = [];
  return (line) => {
    lines.push(line);
    work.progress(lines.join('\n'));
  };
}
