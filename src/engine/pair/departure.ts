import type { Host } from '../../host/ports/index.ts';
import type { TargetModel } from '../../host/ports/targets.ts';
import { allEnded } from '../../lib/all.ts';
import { messageOf } from '../../lib/text.ts';
import type { LayeredDraft } from '../configuration/draft.ts';
import type { StoredConfiguration } from '../configuration/stored-configuration.ts';
import type { Log } from '../declare/log.ts';
import type { Desired, Subsystem } from '../declare/subsystem.ts';
import type { Facts } from '../facts/facts.ts';
import { converge } from '../plan/converge/converge.ts';
import { ServiceLook } from '../plan/converge/service-look.ts';

interface Departing {
  readonly host: Host;
  readonly configuration: StoredConfiguration;
  /** Those that end, in their order. */
  readonly subsystems: readonly Subsystem[];
  readonly facts: Facts;
  readonly log: Log;
}

/**
 * Applies subsystems that follow the pool of a pair as on a fresh system, so that nothing of this machine serves or uses the
 * pool any more. The others, such as the network, stay as they are.
 */
export async function leavePool({ host, configuration, subsystems, facts, log }: Departing): Promise<void> {
  const fresh = freshDraft(configuration, facts);
  await Promise.all([...(await host.jails.look()).keys()].map((name) => host.jails.stop(name)));
  const leaving = subsystems.toReversed();
  const look = new ServiceLook(
    host,
    leaving.flatMap(({ services = [] }) => services),
  );
  const end = async (subsystem: Subsystem) => {
    try {
      const { actions } = await converge(host, ended(subsystem.render(fresh, facts)), undefined, { look });
      log.info({ subsystem: subsystem.name, actions }, `subsystem ${subsystem.name}: ended`);
    } catch (error) {
      log.error({ subsystem: subsystem.name, error: messageOf(error) }, `subsystem ${subsystem.name}: not ended`);
      throw error;
    }
  };
  // Side by side, because a service mostly waits for its clients. What comes after another subsystem is ended before it.
  const ends = new Map<string, Promise<void>>();
  for (const subsystem of leaving) {
    const before = leaving.flatMap(({ name, after }) =>
      after?.includes(subsystem.name) === true ? [ends.get(name)] : [],
    );
    ends.set(
      subsystem.name,
      Promise.all(before).then(() => end(subsystem)),
    );
  }
  await allEnded(ends.values());
}

/** The records of a fresh system. */
function freshDraft(configuration: StoredConfiguration, facts: Facts): LayeredDraft {
  const fresh = configuration.emptyDraft(facts);
  for (const resource of configuration.resources) {
    const first = resource.kind === 'collection' ? resource.seed(facts) : [resource.seed(facts)];
    for (const values of first) fresh.plant(resource, values);
  }
  return fresh;
}

/** On a fresh system, services that run already are those of an administrator. Here they are those of the pair. */
function ended(desired: Desired): Desired {
  return {
    ...desired,
    ...(desired.services && { services: desired.services.map((service) => ({ ...service, running: false })) }),
    ...(desired.targets && { targets: nothingServed }),
  };
}

const nothingServed: TargetModel = { serving: false, extents: [], targets: [], discovery: [], nameServers: [] };
