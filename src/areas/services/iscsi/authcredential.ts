import { integer, refine, required, secret, text } from '../../../engine/declare/fields.ts';
import { collection, type RecordOf, type View } from '../../../engine/declare/resource.ts';

const secretText = (description: string) =>
  refine(secret(text({ description, max: 16, untrimmed: true })), (value) =>
    value !== '' && value.length < 12 ? 'A secret has 12 to 16 characters.' : undefined,
  );

export const iscsiCredential = collection('services/iscsi/authcredential', {
  title: 'iSCSI credential',
  description:
    'A user with a secret. Portals and targets name those who may come in by the number of a group of credentials.',
  order: ['iscsi_target_auth_tag'],
  fields: {
    iscsi_target_auth_tag: integer({
      description: 'Number of the group; several credentials may have the same.',
      min: 1,
      max: 65535,
      initial: 1,
    }),
    iscsi_target_auth_user: required(text({ description: 'User that the initiator names.', max: 120 })),
    iscsi_target_auth_secret: required(secretText('Secret of the user, 12 to 16 characters.')),
    iscsi_target_auth_peeruser: text({
      description: 'User that the target names to the initiator, for mutual CHAP.',
      max: 120,
    }),
    iscsi_target_auth_peersecret: secretText(
      "Secret of the target's user, 12 to 16 characters, another than the first.",
    ),
  },
  check({ record, issues }) {
    const { iscsi_target_auth_peeruser: user, iscsi_target_auth_peersecret: peerSecret } = record;
    if (user !== '' && peerSecret === '')
      issues.add('iscsi_target_auth_peersecret', 'A peer user needs a peer secret.');
    if (user === '' && peerSecret !== '') issues.add('iscsi_target_auth_peeruser', 'A peer secret needs a peer user.');
    if (peerSecret !== '' && peerSecret === record.iscsi_target_auth_secret) {
      issues.add('iscsi_target_auth_peersecret', 'The peer secret must be another than the secret.');
    }
  },
});

export type CredentialRecord = RecordOf<typeof iscsiCredential.fields>;

export const authMethods = ['None', 'CHAP', 'CHAP Mutual'] as const;

/** What keeps the credentials of a group from being used by this method, or nothing. */
export function authProblem(method: string, tag: number | null, view: View): string | undefined {
  if (method === 'None') return undefined;
  if (tag === null) return `${method} needs a group of credentials.`;
  const group = view.having(iscsiCredential, 'iscsi_target_auth_tag', tag);
  if (group.length === 0) return `No credentials have the group number ${tag}.`;
  if (method === 'CHAP Mutual' && group.some((one) => one.iscsi_target_auth_peeruser === ''))
    return `Mutual CHAP needs a peer user in all credentials of the group ${tag}.`;
  return undefined;
}
