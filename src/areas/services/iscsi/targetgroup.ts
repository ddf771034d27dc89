import {
  choice,
  field,
  good,
  integer,
  nullable,
  readOnly,
  reference,
  required,
  text,
} from '../../../engine/declare/fields.ts';
import { collection } from '../../../engine/declare/resource.ts';
import { authMethods, authProblem } from './authcredential.ts';

const groupNumber = nullable(
  integer({
    description: 'Number of the group of credentials that opens the target; null and -1 are none.',
    min: 1,
    max: 65535,
  }),
);

export const iscsiTargetGroup = collection('services/iscsi/targetgroup', {
  title: 'iSCSI target group',
  description: 'A way to a target: at which portal, for whom, and by what credentials.',
  unique: [
    {
      fields: ['iscsi_target', 'iscsi_target_portalgroup'],
      description: 'A portal group cannot be duplicated on a target.',
    },
  ],
  fields: {
    iscsi_target: required(reference('services/iscsi/target', { description: 'Target.', onRemove: 'remove' })),
    iscsi_target_portalgroup: required(
      reference('services/iscsi/portal', { description: 'Portal at which it is offered.', onRemove: 'remove' }),
    ),
    // Not unset: a target that was for some must not become one for everybody.
    iscsi_target_initiatorgroup: nullable(
      reference('services/iscsi/authorizedinitiator', {
        description: 'Initiators that may come in; everybody when unset.',
        onRemove: 'remove',
      }),
    ),
    iscsi_target_authtype: choice(authMethods, { description: 'How initiators show who they are.', initial: 'None' }),
    // Clients write -1 for none (clients-need V4).
    iscsi_target_authgroup: field({
      ...groupNumber,
      read: (sent) => (sent === -1 || sent === '-1' ? good(null) : groupNumber.read(sent)),
    }),
    iscsi_target_initialdigest: readOnly(
      text({ description: 'Digests of a login; the initiator chooses.', initial: 'Auto' }),
    ),
  },
  check({ record, view, issues }) {
    const problem = authProblem(record.iscsi_target_authtype, record.iscsi_target_authgroup, view);
    if (problem !== undefined) issues.add('iscsi_target_authgroup', problem);
  },
});
