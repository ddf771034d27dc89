import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isUnanswered, logLines, readLookup, saidByNet, ticketObjection } from '../../../src/host/linux/domain-read.ts';

/** The output of Samba 4.22. */
const lookup = `Information for Domain Controller: 10.0.2.15

Response Type: LOGON_SAM_LOGON_RESPONSE_EX
GUID: 80ce2563-7853-4649-b58d-17b479b1a2dc
Flags:
	Is a PDC:                                   yes
	Is a non-domain NC serviced by LDAP server: no
Forest: corp.example.com
Domain: corp.example.com
Domain Controller: dc.corp.example.com
Pre-Win2k Domain: CORP
Pre-Win2k Hostname: DC
Server Site Name: Default-First-Site-Name
`;

test('the domain is read from a controller’s answer', () => {
  assert.deepEqual(readLookup(lookup), {
    domain: 'corp.example.com',
    workgroup: 'CORP',
    controller: 'dc.corp.example.com',
  });
  assert.equal(readLookup("Didn't find the cldap server!\n"), undefined);
});

test('refusals of kinit are classified', () => {
  const objection = (stderr: string, status = 1) =>
    ticketObjection({ status, stdout: 'Password for x@CORP.EXAMPLE.COM: \n', stderr }).objection;
  assert.equal(objection('kinit: Password incorrect while getting initial credentials\n'), 'password');
  assert.equal(
    objection("kinit: Client 'x@CORP.EXAMPLE.COM' not found in Kerberos database while getting initial credentials\n"),
    'account',
  );
  assert.equal(
    objection("kinit: Client's credentials have been revoked while getting initial credentials\n"),
    'expired',
  );
  assert.equal(objection('kinit: Clock skew too great while getting initial credentials\n'), 'clock');
  assert.equal(
    objection('kinit: Cannot contact any KDC for realm "CORP.EXAMPLE.COM" while getting initial credentials\n'),
    'unreachable',
  );
  assert.equal(objection('', 124), 'unreachable');
  const other = ticketObjection({
    status: 1,
    stdout: '',
    stderr: 'kinit: KDC has no support for encryption type while getting initial credentials\n',
  });
  assert.deepEqual(other, { objection: 'other', said: 'KDC has no support for encryption type' });
});

test('the “invalid parameter” of net is recognized as a controller that did not answer, and reported as that', () => {
  const outcome = (stderr: string, status = 255) => ({ status, stdout: '', stderr });
  const unanswered = outcome(
    'Failed to join domain: failed to connect to AD: An invalid parameter was passed to a service or function.\n',
  );
  const refused = outcome('Failed to join domain: failed to connect to AD: Connect error\n');
  assert.deepEqual([unanswered, refused, { ...unanswered, status: 0 }].map(isUnanswered), [true, false, false]);
  assert.equal(saidByNet(unanswered), 'no controller answered in time');
  assert.equal(saidByNet(outcome('', 124)), 'no controller answered in time');
  assert.match(saidByNet(refused), /Connect error/);
  assert.equal(saidByNet(outcome('')), 'net ended with 255');
});

test('a log leaves out Samba’s warnings about its private file', () => {
  assert.deepEqual(
    logLines(
      "Using short domain name -- CORP\nJoined 'NAS' to dns domain 'corp.example.com'\n",
      '\nWARNING: lock directory /run/samba does not exist\nDNS update failed!\n',
    ),
    ['Using short domain name -- CORP', "Joined 'NAS' to dns domain 'corp.example.com'", 'DNS update failed!'],
  );
});
