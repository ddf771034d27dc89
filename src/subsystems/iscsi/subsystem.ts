import { iscsiCredential } from '../../areas/services/iscsi/authcredential.ts';
import { iscsiInitiators } from '../../areas/services/iscsi/authorizedinitiator.ts';
import { iscsiExtent } from '../../areas/services/iscsi/extent.ts';
import { iscsiSettings } from '../../areas/services/iscsi/globalconfiguration.ts';
import { iscsiPortal } from '../../areas/services/iscsi/portal.ts';
import { iscsiService } from '../../areas/services/iscsi/service.ts';
import { iscsiTarget } from '../../areas/services/iscsi/target.ts';
import { iscsiTargetGroup } from '../../areas/services/iscsi/targetgroup.ts';
import { iscsiTargetToExtent } from '../../areas/services/iscsi/targettoextent.ts';
import { spaceProblems } from '../../areas/services/iscsi/thresholds.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { hasOnlyComments } from '../local.ts';
import { iscsiAdoption } from './adopt.ts';
import { targetModel } from './target-model.ts';

/** Restores at the start what targetcli saved, and first clears everything. */
const restorer = 'rtslib-fb-targetctl';

export const iscsiSubsystem: Subsystem = {
  name: 'iscsi',
  description: 'The iSCSI targets.',
  followsPool: true,
  reads: [
    iscsiSettings,
    iscsiExtent,
    iscsiInitiators,
    iscsiCredential,
    iscsiTarget,
    iscsiTargetGroup,
    iscsiTargetToExtent,
    iscsiPortal,
    serviceSwitch,
  ],
  adopts: iscsiAdoption,
  services: ['tgt', restorer],
  local: [
    { path: '/etc/tgt/conf.d/*', isDefault: hasOnlyComments },
    { path: '/etc/tgt/targets.conf' },
    { path: '/etc/rtslib-fb-target/saveconfig.json', isDefault: hasNoTargets },
  ],
  uses: ['disks', 'storage', 'targets'],
  render(view, facts) {
    const isServed = isOn(view, iscsiService);
    const { model } = targetModel(view, facts, isServed);
    return {
      // tgt runs only if it is the engine: next to the kernel's targets it would take their port.
      services: [
        // Its end clears the kernel's targets, so that those of Holdfast can take their disks, names and addresses.
        { name: restorer, running: false, onChange: 'nothing' },
        { name: 'tgt', running: isServed && facts.targets.engine === 'tgt', onChange: 'nothing' },
      ],
      targets: model,
    };
  },
  problems: (view, facts) => [
    ...spaceProblems(view, facts.storage),
    ...targetModel(view, facts, isOn(view, iscsiService)).problems,
  ],
};

/** Whether saveconfig.json is the empty configuration of targetcli. */
export function hasNoTargets(saved: string): boolean {
  return /"storage_objects":\s*\[\s*\]/.test(saved) && /"targets":\s*\[\s*\]/.test(saved);
}
