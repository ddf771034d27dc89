import { iscsiCredential } from '../../areas/services/iscsi/authcredential.ts';
import { iscsiInitiators } from '../../areas/services/iscsi/authorizedinitiator.ts';
import { iscsiExtent } from '../../areas/services/iscsi/extent.ts';
import { iscsiSettings } from '../../areas/services/iscsi/globalconfiguration.ts';
import { iscsiPortal } from '../../areas/services/iscsi/portal.ts';
import { iscsiTarget } from '../../areas/services/iscsi/target.ts';
import { iscsiTargetGroup } from '../../areas/services/iscsi/targetgroup.ts';
import { iscsiTargetToExtent } from '../../areas/services/iscsi/targettoextent.ts';
import { spaceWarnings } from '../../areas/services/iscsi/thresholds.ts';
import { isOn, serviceSwitch } from '../../areas/services/services.ts';
import type { Unit } from '../../engine/unit.ts';
import { targetModel } from './target-model.ts';

export const iscsiUnit: Unit = {
  name: 'iscsi',
  says: 'The iSCSI targets.',
  reads: [iscsiSettings, iscsiExtent, iscsiInitiators, iscsiCredential, iscsiTarget, iscsiTargetGroup, iscsiTargetToExtent, iscsiPortal, serviceSwitch],
  services: ['tgt'],
  uses: ['disks', 'storage', 'targets'],
  render(view, facts) {
    const isServed = isOn(view, 'iscsitarget');
    const { model, omissions } = targetModel(view, facts, isServed);
    return {
      // Where the kernel serves, the daemon would only take its ports.
      services: [{ name: 'tgt', running: isServed && facts.targets.engine === 'tgt', onChange: 'nothing' }],
      targets: model,
      omissions,
    };
  },
  warnings: (view, { storage }) => spaceWarnings(view, storage),
};
