import { choice, flag, integer, nullable, refine, secret, text } from '../../engine/declare/fields.ts';
import { singleton } from '../../engine/declare/resource.ts';
import { snmpLines } from './snmp-directives.ts';

/** The protocol makes keys of pass phrases, and of shorter ones none. */
const shortest = 8;

export const snmpSettings = singleton('services/snmp', {
  title: 'SNMP settings',
  description: 'What monitors may ask of the machine.',
  fields: {
    snmp_location: text({ description: 'Where the machine is.' }),
    snmp_contact: text({
      description: 'Who looks after it.',
      max: 120,
      pattern: /^([\w .-]+|[^\s@"\\]+@[^\s@"\\]+)$/,
      rule: 'An e-mail address is wanted, or letters, digits, blanks, hyphens and underscores.',
    }),
    snmp_traps: flag(false, {
      description: 'Whether the server tells who asked wrongly to the hosts that snmp_options names for that.',
    }),
    snmp_community: secret(
      text({
        description: 'Word by which monitors of version 1 and 2c may read; none may when it is empty.',
        initial: 'public',
        max: 120,
        pattern: /^[\w .-]+$/,
        rule: 'Letters, digits, blanks, hyphens, underscores and dots are wanted.',
      }),
    ),
    snmp_options: snmpLines({ description: 'Further lines of snmpd.conf.' }),
    // Beyond the document's list, from here on (gaps 8.11).
    snmp_v3: flag(false, { description: 'Whether an account of version 3 may read.' }),
    snmp_v3_username: text({
      description: 'Name of that account.',
      max: 20,
      pattern: /^[^\s"\\]+$/,
      rule: 'A name has no blanks, quotes or backslashes.',
    }),
    snmp_v3_authtype: choice(['SHA', 'MD5', ''], {
      description: 'How it proves its password; without, nobody is asked for one.',
      initial: 'SHA',
    }),
    snmp_v3_password: secret(passPhrase('Its password.', 50)),
    snmp_v3_privproto: nullable(
      choice(['AES', 'DES'], { description: 'How its questions and answers are encrypted; they are not when unset.' }),
    ),
    snmp_v3_privpassphrase: secret(nullable(passPhrase('Pass phrase of the encryption.', 100))),
    snmp_loglevel: integer({
      description: 'How much is logged: 0 for emergencies only, 7 for everything.',
      min: 0,
      max: 7,
      initial: 3,
    }),
    snmp_zilstat: flag(false, { description: 'Whether the counters of the intent log of ZFS may be asked for.' }),
  },
  check({ record, issues }) {
    if (!record.snmp_v3) {
      if (record.snmp_community === '')
        issues.add('snmp_community', 'Without it and without snmp_v3 nobody could ask.');
      return;
    }
    if (record.snmp_v3_username === '') issues.add('snmp_v3_username', 'The account needs a name.');
    if (record.snmp_v3_authtype !== '' && record.snmp_v3_password === '')
      issues.add('snmp_v3_password', 'The account needs a password.');
    if (record.snmp_v3_privproto === null) return;
    if (record.snmp_v3_authtype === '')
      issues.add('snmp_v3_privproto', 'There is no encryption without a password: it needs snmp_v3_authtype.');
    if (record.snmp_v3_privpassphrase === null)
      issues.add('snmp_v3_privpassphrase', 'The encryption needs a pass phrase.');
  },
});

function passPhrase(description: string, max: number) {
  return refine(text({ description, max, untrimmed: true }), (value) =>
    value !== '' && value.length < shortest ? `At least ${shortest} characters are wanted.` : undefined,
  );
}
