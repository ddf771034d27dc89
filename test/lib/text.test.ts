import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withArticle } from '../../src/lib/text.ts';

test('a noun has the article that it is spoken with', () => {
  const spoken = ['an NFS share', 'an iSCSI target', 'an init or shutdown script', 'an LDAP server', 'an SMB share'];
  const others = ['a CIFS share', 'a user', 'a SMART test', 'a VLAN', 'a cron job', 'a UPS'];
  for (const one of [...spoken, ...others]) assert.equal(withArticle(one.replace(/^an? /, '')), one);
});
