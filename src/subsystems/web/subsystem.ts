import { certificate } from '../../areas/system/certificate.ts';
import { entrancesOf, systemSettings } from '../../areas/system/settings.ts';
import type { Access } from '../../engine/change/confirm.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';

/** After the network, whose addresses the doors are opened on. */
export const webSubsystem: Subsystem = {
  name: 'web',
  description: 'The interface itself, where the system settings say.',
  reads: [systemSettings, certificate],
  after: ['network'],
  render: (view) => ({ endpoints: entrancesOf(view, view.only(systemSettings)) }),
};

/** The door that a caller came in by. The one that the daemon was started with is none of them: nothing takes it away. */
export const doorAccess: Access = {
  name: 'web',
  reads: [systemSettings, certificate],
  of(view, _facts, { local, port }) {
    const everywhere = local.includes(':') ? '::' : '0.0.0.0';
    const doors = entrancesOf(view, view.only(systemSettings));
    return JSON.stringify(
      doors.filter((door) => door.port === port && (door.address === local || door.address === everywhere)),
    );
  },
};
