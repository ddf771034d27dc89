import {
  basic,
  choice,
  field,
  good,
  integer,
  nullable,
  readOnly,
  reference,
  required,
  text,
  titled,
} from '../../../engine/declare/fields.ts';
import { collection } from '../../../engine/declare/resource.ts';
import { authMethods, authProblem } from './authcredential.ts';

const groupNumber = nullable(
  integer({
    description: 'Number of the group of credentials for the target; null or -1 for none.',
    min: 1,
    max: 2 ** 31 - 1,
  }),
);

export const iscsiTargetGroup = collection('services/iscsi/targetgroup', {
  shortName: 'iscsi/targetgroup',
  title: 'iSCSI target group',
  description: 'Access to a target: through which portal, for which initiators and with which credentials.',
  binned: true,
  unique: [
    {
      fields: ['iscsi_target', 'iscsi_target_portalgroup'],
      description: 'A portal group cannot be duplicated on a target.',
    },
  ],
  fields: {
    iscsi_target: required(reference('services/iscsi/target', { description: 'Target.', onRemove: 'remove' })),
    iscsi_target_portalgroup: titled(
      'Portal',
      required(
        reference('services/iscsi/portal', {
          description: 'Portal that the target is available at.',
          onRemove: 'remove',
        }),
      ),
    ),
    // Removed, not set to null: a target that was restricted must not become accessible to all initiators.
    iscsi_target_initiatorgroup: titled(
      'Initiators',
      nullable(
        reference('services/iscsi/authorizedinitiator', {
          description: 'Group of initiators that may connect; all initiators when null.',
          onRemove: 'remove',
        }),
      ),
    ),
    ...basic('Authentication', {
      iscsi_target_authtype: titled(
        'Method',
        choice(authMethods, { description: 'How initiators authenticate.', initial: 'None' }),
      ),
      // Clients send -1 for none (clients-need V4).
      iscsi_target_authgroup: titled(
        'Credential group',
        field({
          ...groupNumber,
          read: (sent) => (sent === -1 || sent === '-1' ? good(null) : groupNumber.read(sent)),
        }),
      ),
    }),
    iscsi_target_initialdigest: titled(
      'Digest',
      readOnly(text({ description: 'Digests of a login. The initiator chooses them.', initial: 'Auto' })),
    ),
  },
  check({ record, view, issues }) {
    const problem = authProblem(record.iscsi_target_authtype, record.iscsi_target_authgroup, view);
    if (problem !== undefined) issues.add('iscsi_target_authgroup', problem);
  },
});
