import { choice, nullable, reference, secret, text } from '../../engine/declare/fields.ts';
import { ipAddress } from '../../engine/declare/formats.ts';
import { singleton } from '../../engine/declare/resource.ts';

export const domainControllerSettings = singleton('services/domaincontroller', {
  title: 'domain controller settings',
  description:
    'The Active Directory domain that this machine is the controller of. It is made when the service is first switched on with these.',
  fields: {
    dc_realm: text({
      description: 'Name of the realm, which is the DNS name of the domain: corp.example.com.',
      max: 120,
      pattern: /^(?=.*\.)[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/,
      rule: 'A DNS name of several parts is wanted, like corp.example.com.',
    }),
    dc_domain: text({
      description: 'Old name of the domain: CORP. At most 15 characters.',
      max: 120,
      pattern: /^[A-Za-z0-9][A-Za-z0-9_-]{0,14}$/,
      rule: 'Up to 15 letters, digits, hyphens and underscores are wanted.',
    }),
    dc_role: choice(['dc'], { description: 'What the machine is in the domain.', initial: 'dc' }),
    dc_dns_backend: choice(['SAMBA_INTERNAL', 'BIND9_FLATFILE', 'BIND9_DLZ', 'NONE'], {
      description:
        'Who answers for the names of the domain: Samba itself, a BIND that somebody sets up, or nobody. It counts when the domain is made.',
      initial: 'SAMBA_INTERNAL',
      // As the document writes it (gaps 8.4).
      also: { SMBSRV_INTERNAL: 'SAMBA_INTERNAL' },
    }),
    dc_dns_forwarder: ipAddress({ description: 'Server that is asked about all other names.' }),
    dc_forest_level: choice(['2000', '2003', '2008', '2008_R2', '2012', '2012_R2'], {
      description: 'Windows release whose features domain and forest have. It can be raised, not lowered.',
      initial: '2003',
    }),
    dc_passwd: secret(text({ description: 'Password of the administrator of the domain.', max: 120, untrimmed: true })),
    dc_kerberos_realm: nullable(
      reference('directoryservice/kerberosrealm', {
        description: 'Kerberos realm. A domain controller is the centre of its own, so this is only kept.',
        onRemove: { becomes: null },
      }),
    ),
  },
  check({ record, issues }) {
    const needed = ['dc_realm', 'dc_domain', 'dc_dns_forwarder', 'dc_passwd'] as const;
    if (record.dc_realm === '' && record.dc_domain === '') return;
    for (const name of needed) if (record[name] === '') issues.add(name, 'A domain cannot do without it.');
  },
});
