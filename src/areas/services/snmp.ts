import {
  advanced,
  basic,
  choice,
  flag,
  integer,
  nullable,
  refine,
  secret,
  text,
  titled,
} from '../../engine/declare/fields.ts';
import { singleton } from '../../engine/declare/resource.ts';
import { service, udp } from './service.ts';
import { snmpLines } from './snmp-directives.ts';

/** SNMPv3 derives keys from passphrases of at least 8 characters. */
const shortest = 8;

export const snmpSettings = singleton('services/snmp', {
  shortName: 'service/snmp',
  title: 'SNMP settings',
  description: 'Which monitoring systems may read the state of the machine by SNMP.',
  fields: {
    snmp_location: text({ description: 'Where the machine is.' }),
    snmp_contact: text({
      description: 'Contact person for the machine.',
      max: 120,
      pattern: /^([\w .-]+|[^\s@"\\]+@[^\s@"\\]+)$/,
      rule: 'Expected an email address, or letters, digits, spaces, dots, hyphens and underscores.',
    }),
    ...advanced('Traps', {
      snmp_traps: flag(false, {
        description:
          'Whether the server sends a trap about each request with wrong credentials to the trap hosts in snmp_options.',
      }),
    }),
    ...basic('Version 2c', {
      snmp_community: secret(
        text({
          description: 'Community string for read access by SNMP version 1 and 2c; empty disables these versions.',
          initial: 'public',
          max: 120,
          pattern: /^[\w .-]+$/,
          rule: 'Expected letters, digits, spaces, dots, hyphens and underscores.',
        }),
      ),
    }),
    ...advanced('Further', {
      snmp_options: titled('Additional lines', snmpLines({ description: 'Additional lines of snmpd.conf.' })),
    }),
    ...advanced('Version 3', {
      // From here on, fields are not listed in the document (gaps 8.11).
      snmp_v3: titled('Version 3', flag(false, { description: 'Whether an SNMPv3 account has read access.' })),
      snmp_v3_username: titled(
        'User name',
        text({
          description: 'User name of the SNMPv3 account.',
          max: 20,
          pattern: /^[^\s"\\]+$/,
          rule: 'Expected a user name without spaces, quotes and backslashes.',
        }),
      ),
      snmp_v3_authtype: titled(
        'Authentication',
        choice(['SHA', 'MD5', ''], {
          description: 'Authentication protocol of the SNMPv3 account; empty disables authentication.',
          initial: 'SHA',
        }),
      ),
      snmp_v3_password: titled('Password', secret(passPhrase('Password of the SNMPv3 account.', 50))),
      snmp_v3_privproto: titled(
        'Encryption',
        nullable(
          choice(['AES', 'DES'], {
            description: 'Encryption protocol of the SNMPv3 account; null disables encryption.',
          }),
        ),
      ),
      snmp_v3_privpassphrase: titled(
        'Encryption passphrase',
        secret(nullable(passPhrase('Passphrase of the encryption.', 100))),
      ),
    }),
    ...advanced('Further', {
      snmp_loglevel: titled(
        'Log level',
        integer({
          description: 'Log level: 0 logs emergencies only, 7 logs everything.',
          min: 0,
          max: 7,
          initial: 3,
        }),
      ),
      snmp_zilstat: titled(
        'Statistics of the intent log',
        flag(false, { description: 'Whether SNMP serves the counters of the ZFS intent log.' }),
      ),
    }),
  },
  check({ record, issues }) {
    if (!record.snmp_v3) {
      if (record.snmp_community === '')
        issues.add('snmp_community', 'snmp_community is required when snmp_v3 is false.');
      return;
    }
    if (record.snmp_v3_username === '')
      issues.add('snmp_v3_username', 'snmp_v3_username is required when snmp_v3 is true.');
    if (record.snmp_v3_authtype !== '' && record.snmp_v3_password === '')
      issues.add('snmp_v3_password', 'snmp_v3_password is required when snmp_v3_authtype is set.');
    if (record.snmp_v3_privproto === null) return;
    if (record.snmp_v3_authtype === '')
      issues.add(
        'snmp_v3_privproto',
        'snmp_v3_privproto requires snmp_v3_authtype: SNMPv3 has no encryption without authentication.',
      );
    if (record.snmp_v3_privpassphrase === null)
      issues.add('snmp_v3_privpassphrase', 'snmp_v3_privpassphrase is required when snmp_v3_privproto is set.');
  },
});

export const snmpService = service('snmp', { settings: snmpSettings, programs: ['snmpd'], listens: [udp(161)] });

function passPhrase(description: string, max: number) {
  return refine(text({ description, max, untrimmed: true }), (value) =>
    value !== '' && value.length < shortest
      ? `Expected at least ${shortest} characters, got ${value.length}.`
      : undefined,
  );
}
