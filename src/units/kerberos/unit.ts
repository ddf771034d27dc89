import { kerberosRealm } from '../../areas/directoryservice/kerberosrealm.ts';
import { kerberosSettings } from '../../areas/directoryservice/kerberossettings.ts';
import type { Unit } from '../../engine/unit.ts';
import { krb5Conf } from './krb5-conf.ts';

export const kerberosUnit: Unit = {
  name: 'kerberos',
  says: 'The realms of Kerberos that programs know.',
  reads: [kerberosRealm, kerberosSettings],
  render: (view) => ({ files: [{ path: '/etc/krb5.conf', content: krb5Conf(view.all(kerberosRealm), view.only(kerberosSettings)) }] }),
};
