import { advanced, basic, choice, nullable, reference, secret, text, titled } from '../../engine/declare/fields.ts';
import { ipAddress } from '../../engine/declare/formats.ts';
import { singleton } from '../../engine/declare/resource.ts';
import { service, tcp, udp } from './service.ts';

export const domainControllerSettings = singleton('services/domaincontroller', {
  shortName: 'service/domaincontroller',
  title: 'domain controller settings',
  description:
    'The Active Directory domain that this machine controls. It is created when the service is first switched on.',
  fields: {
    ...basic('Domain', {
      dc_realm: text({
        description: 'Name of the realm, which is the DNS name of the domain: corp.example.com.',
        max: 120,
        pattern: /^(?=.*\.)[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/,
        rule: 'Expected a DNS name of several parts, as corp.example.com.',
      }),
      dc_domain: text({
        description: 'NetBIOS name of the domain, as CORP. At most 15 characters.',
        max: 120,
        pattern: /^[A-Za-z0-9][A-Za-z0-9_-]{0,14}$/,
        rule: 'Expected up to 15 letters, digits, hyphens and underscores.',
      }),
      dc_role: choice(['dc'], { description: 'Role of the machine in the domain.', initial: 'dc' }),
    }),
    ...advanced('DNS', {
      dc_dns_backend: titled(
        'DNS backend',
        choice(['SAMBA_INTERNAL', 'BIND9_FLATFILE', 'BIND9_DLZ', 'NONE'], {
          description:
            'DNS server of the domain: Samba itself, a BIND that the administrator sets up, or none. It takes effect when the domain is created.',
          initial: 'SAMBA_INTERNAL',
          // The spelling of the document (gaps 8.4).
          also: { SMBSRV_INTERNAL: 'SAMBA_INTERNAL' },
        }),
      ),
      dc_dns_forwarder: titled('DNS forwarder', ipAddress({ description: 'DNS server for all other names.' })),
    }),
    ...advanced('Domain', {
      dc_forest_level: titled(
        'Functional level',
        choice(['2000', '2003', '2008', '2008_R2', '2012', '2012_R2'], {
          description: 'Functional level of the domain and the forest. It can be raised, not lowered.',
          initial: '2003',
        }),
      ),
    }),
    ...basic('Domain', {
      dc_passwd: titled(
        'Administrator password',
        secret(text({ description: 'Password of the domain account Administrator.', max: 120, untrimmed: true })),
      ),
    }),
    ...advanced('Kerberos', {
      dc_kerberos_realm: nullable(
        reference('directoryservice/kerberosrealm', {
          description: 'Kerberos realm. It is stored only: a domain controller has its own realm.',
          onRemove: { becomes: null },
        }),
      ),
    }),
  },
  problems: ({ dc_dns_backend: backend }) =>
    backend.startsWith('BIND9')
      ? [
          {
            kind: 'ineffective',
            about: 'services/domaincontroller',
            detail: 'dc_dns_backend',
            severity: 'warning',
            message: `dc_dns_backend is ${backend}, but Holdfast does not run BIND: without one that you set up, no server answers for the names of the domain. Set SAMBA_INTERNAL before the domain is created.`,
          },
        ]
      : [],
  check({ record, issues }) {
    const needed = ['dc_realm', 'dc_domain', 'dc_dns_forwarder', 'dc_passwd'] as const;
    if (record.dc_realm === '' && record.dc_domain === '') return;
    for (const name of needed) if (record[name] === '') issues.add(name, `${name} is required for a domain.`);
  },
});

export const domainControllerService = service('domaincontroller', {
  settings: domainControllerSettings,
  programs: ['samba-ad-dc'],
  listens: [
    ...[53, 88, 135, 139, 389, 445, 464, 636, 3268].map((port) => tcp(port)),
    ...[53, 88, 137, 138, 389, 464].map((port) => udp(port)),
  ],
});
