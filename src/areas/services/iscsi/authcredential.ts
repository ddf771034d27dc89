import { advanced, basic, integer, refine, required, secret, text, titled } from '../../../engine/declare/fields.ts';
import { collection, type RecordOf, type View } from '../../../engine/declare/resource.ts';

const secretText = (description: string) =>
  refine(secret(text({ description, max: 16, untrimmed: true })), (value) =>
    value !== '' && value.length < 12 ? 'Expected 12 to 16 characters.' : undefined,
  );

export const iscsiCredential = collection('services/iscsi/authcredential', {
  shortName: 'iscsi/credential',
  title: 'iSCSI credential',
  description: 'A CHAP user and secret. Portals and target groups refer to credentials by the number of their group.',
  binned: true,
  order: ['iscsi_target_auth_tag'],
  fields: {
    iscsi_target_auth_tag: titled(
      'Group number',
      integer({
        description: 'Number of the group of credentials; several credentials may have the same number.',
        min: 1,
        max: 2 ** 31 - 1,
        initial: 1,
      }),
    ),
    ...basic('Initiator', {
      iscsi_target_auth_user: required(text({ description: 'User name of the initiator.', max: 120 })),
      iscsi_target_auth_secret: required(secretText('CHAP secret of the initiator, 12 to 16 characters.')),
    }),
    ...advanced('Target', {
      iscsi_target_auth_peeruser: titled(
        'Peer user',
        text({
          description: 'User name of the target, for mutual CHAP.',
          max: 120,
        }),
      ),
      iscsi_target_auth_peersecret: titled(
        'Peer secret',
        secretText('CHAP secret of the target, 12 to 16 characters; it must differ from iscsi_target_auth_secret.'),
      ),
    }),
  },
  check({ record, issues }) {
    const { iscsi_target_auth_peeruser: user, iscsi_target_auth_peersecret: peerSecret } = record;
    if (user !== '' && peerSecret === '')
      issues.add(
        'iscsi_target_auth_peersecret',
        'iscsi_target_auth_peersecret is required when iscsi_target_auth_peeruser is set.',
      );
    if (user === '' && peerSecret !== '')
      issues.add(
        'iscsi_target_auth_peeruser',
        'iscsi_target_auth_peeruser is required when iscsi_target_auth_peersecret is set.',
      );
    if (peerSecret !== '' && peerSecret === record.iscsi_target_auth_secret) {
      issues.add(
        'iscsi_target_auth_peersecret',
        'iscsi_target_auth_peersecret must differ from iscsi_target_auth_secret.',
      );
    }
  },
});

export type CredentialRecord = RecordOf<typeof iscsiCredential.fields>;

export const authMethods = ['None', 'CHAP', 'CHAP Mutual'] as const;

/** Why the group of credentials cannot be used with this method, or undefined. */
export function authProblem(method: string, tag: number | null, view: View): string | undefined {
  if (method === 'None') return undefined;
  if (tag === null) return `${method} requires the number of a group of credentials.`;
  const group = view.having(iscsiCredential, 'iscsi_target_auth_tag', tag);
  if (group.length === 0) return `No credential has the group number ${tag}.`;
  if (method === 'CHAP Mutual' && group.some((credential) => credential.iscsi_target_auth_peeruser === ''))
    return `CHAP Mutual requires iscsi_target_auth_peeruser in all credentials of group ${tag}.`;
  return undefined;
}
