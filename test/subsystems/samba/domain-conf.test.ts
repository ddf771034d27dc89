import assert from 'node:assert/strict';
import { test } from 'node:test';
import { domainSettings } from '../../../src/areas/directoryservice/activedirectory.ts';
import type { DomainSettings } from '../../../src/areas/directoryservice/domain-fields.ts';
import {
  idmapAd,
  idmapAutorid,
  idmapHash,
  idmapNss,
  idmapRid,
  idmapScript,
  idmapTdb,
} from '../../../src/areas/directoryservice/idmap.ts';
import type { SentOf } from '../../../src/engine/declare/resource.ts';
import { sambaSubsystem } from '../../../src/subsystems/samba/subsystem.ts';
import { machine as alone, fileOf, freshConfiguration } from '../support/configuration.ts';

const machine = { ...alone, membership: { domain: 'corp.example.com', machine: 'holdfast' } };

type Sent = SentOf<typeof domainSettings.fields>;

const member: Sent = {
  ad_enable: true,
  ad_domainname: 'corp.example.com',
  ad_bindname: 'Administrator',
  ad_bindpw: 'secret',
};

/** A configuration with the machine in a domain. */
function joined(sent: Sent = {}, fill: Partial<DomainSettings> = {}) {
  const draft = freshConfiguration();
  draft.update(domainSettings, 1, { ...member, ...sent }, { ad_workgroup: 'CORP', ...fill });
  return draft;
}

type Draft = ReturnType<typeof joined>;

/** The lines that a member's global section has and that of a server by itself has not. */
function linesOf(draft: Draft): readonly string[] {
  assert.deepEqual(draft.issues.toIssues(), {});
  const text = (of: Draft) =>
    (fileOf(sambaSubsystem.render(of, machine), '/etc/samba/smb.conf') ?? '').split('\n').map((line) => line.trim());
  const alone = text(freshConfiguration());
  return text(draft).filter((line) => !alone.includes(line));
}

const idmapLines = (draft: Draft) => linesOf(draft).filter((line) => line.startsWith('idmap'));

test('a member of a domain', () => {
  assert.deepEqual(linesOf(joined()), [
    'security = ads',
    'realm = CORP.EXAMPLE.COM',
    'workgroup = CORP',
    'kerberos method = secrets and keytab',
    'client ldap sasl wrapping = plain',
    'ldap timeout = 60',
    'ldap connection timeout = 60',
    'winbind request timeout = 60',
    'async dns timeout = 60',
    'allow trusted domains = no',
    'winbind use default domain = no',
    'winbind enum users = yes',
    'winbind enum groups = yes',
    'winbind refresh tickets = yes',
    'winbind nss info = template',
    'template shell = /bin/sh',
    'idmap config * : backend = tdb',
    'idmap config * : range = 90000001-100000000',
    'idmap config CORP : backend = rid',
    'idmap config CORP : range = 20000-90000000',
  ]);
});

test('every setting that Samba supports reaches it', () => {
  const changed = linesOf(
    joined(
      {
        ad_ldap_sasl_wrapping: 'sealed',
        ad_timeout: 20,
        ad_dns_timeout: 7,
        ad_allow_trusted_doms: true,
        ad_use_default_domain: true,
        ad_disable_freenas_cache: true,
        ad_unix_extensions: true,
        ad_nss_info: 'sfu',
        ad_verbose_logging: true,
      },
      { ad_siteservers: 'dc2.corp.example.com dc3.corp.example.com' },
    ),
  );
  for (const line of [
    'password server = dc2.corp.example.com dc3.corp.example.com *',
    'client ldap sasl wrapping = seal',
    'ldap timeout = 20',
    'async dns timeout = 7',
    'allow trusted domains = yes',
    'winbind use default domain = yes',
    'winbind enum users = no',
    'winbind nss info = sfu',
    'log level = 0 winbind:5 auth:5 idmap:5',
  ])
    assert.ok(changed.includes(line), line);
  assert.ok(
    linesOf(joined({ ad_dcname: 'dc1.corp.example.com:636' })).includes('password server = dc1.corp.example.com *'),
  );
});

test('winbind runs in a domain only, and restarts when the domain settings change', () => {
  const winbind = (draft: Draft) =>
    sambaSubsystem.render(draft, machine).services?.find(({ name }) => name === 'winbind');
  assert.equal(winbind(freshConfiguration())?.running, false);
  assert.equal(winbind(joined())?.running, true);
  assert.notEqual(winbind(joined())?.readAtStart, winbind(joined({ ad_use_default_domain: true }))?.readAtStart);
  const monitor = (draft: Draft) =>
    sambaSubsystem.render(draft, machine).services?.find(({ name }) => name === 'holdfast-domain-monitor');
  assert.equal(monitor(joined())?.running, false);
  assert.equal(monitor(joined({ ad_enable_monitor: true }))?.running, true);
  const file = fileOf(
    sambaSubsystem.render(joined({ ad_enable_monitor: true, ad_monitor_frequency: 90, ad_recover_retry: 4 }), machine),
    '/etc/systemd/system/holdfast-domain-monitor.service',
  );
  assert.match(file ?? '', /^ExecStart=\/usr\/lib\/holdfast\/domain-monitor 90 4$/m);
});

test('the newest idmap of the chosen kind for the domain, or for no domain, is used', () => {
  const draft = joined({ ad_idmap_backend: 'ad' });
  draft.create(idmapAd, { idmap_ad_range_low: 30_000 });
  assert.deepEqual(idmapLines(draft).slice(2), [
    'idmap config CORP : backend = ad',
    'idmap config CORP : range = 30000-90000000',
    'idmap config CORP : schema_mode = rfc2307',
    'idmap config CORP : unix_primary_group = no',
    'idmap config CORP : unix_nss_info = no',
  ]);
  draft.create(idmapAd, {
    idmap_ad_range_low: 40_000,
    idmap_ds_type: 1,
    idmap_ad_schema_mode: 'sfu20',
    idmap_ad_unix_nss_info: true,
  });
  draft.create(idmapAd, { idmap_ad_range_low: 50_000, idmap_ds_type: 2 });
  assert.ok(idmapLines(draft).includes('idmap config CORP : range = 40000-90000000'));
  assert.ok(idmapLines(draft).includes('idmap config CORP : schema_mode = sfu20'));
});

test('an idmap kind for all domains is used alone, and others get a second one', () => {
  const tdb = joined({ ad_idmap_backend: 'tdb' });
  tdb.create(idmapTdb, { idmap_ds_type: 1, idmap_tdb_range_low: 3000, idmap_tdb_range_high: 4000 });
  assert.deepEqual(idmapLines(tdb), ['idmap config * : backend = tdb', 'idmap config * : range = 3000-4000']);
  const autorid = joined({ ad_idmap_backend: 'autorid' });
  autorid.create(idmapAutorid, { idmap_autorid_rangesize: 50_000 });
  assert.deepEqual(idmapLines(autorid), [
    'idmap config * : backend = autorid',
    'idmap config * : range = 10000-90000000',
    'idmap config * : rangesize = 50000',
    'idmap config * : read only = no',
    'idmap config * : ignore builtin = no',
  ]);
  const hash = joined();
  hash.create(idmapHash, { idmap_hash_range_name_map: '/etc/name_map.cfg' });
  hash.update(domainSettings, 1, { ad_idmap_backend: 'hash' });
  assert.deepEqual(idmapLines(hash), [
    'idmap config * : backend = hash',
    'idmap config * : range = 90000001-100000000',
    'idmap_hash:name_map = /etc/name_map.cfg',
  ]);
  const script = joined();
  script.create(idmapScript, { idmap_script_script: '/usr/local/bin/map' });
  script.update(domainSettings, 1, { ad_idmap_backend: 'script' });
  assert.deepEqual(idmapLines(script), [
    'idmap config * : backend = tdb',
    'idmap config * : range = 100000001-110000000',
    'idmap config CORP : backend = script',
    'idmap config CORP : range = 90000001-100000000',
    'idmap config CORP : script = /usr/local/bin/map',
  ]);
  const nss = joined({ ad_idmap_backend: 'nss' });
  nss.create(idmapNss, { idmap_ad_range_low: 1000, idmap_ad_range_high: 60_000 });
  assert.ok(idmapLines(nss).includes('idmap config CORP : range = 1000-60000'));
});

test('overlapping ranges and kinds without an idmap are refused with a reason', () => {
  const draft = freshConfiguration();
  draft.create(idmapTdb, { idmap_ds_type: 5, idmap_tdb_range_low: 80_000_000 });
  draft.update(domainSettings, 1, member);
  assert.match(
    draft.issues.toIssues()['ad_idmap_backend']?.[0] ?? '',
    /20000 to 90000000 in the rid id map, overlaps the range of all other accounts, 80000000 to 100000000 in the tdb id map/,
  );
  const adex = freshConfiguration();
  adex.update(domainSettings, 1, { ...member, ad_idmap_backend: 'adex' });
  assert.match(adex.issues.toIssues()['ad_idmap_backend']?.[0] ?? '', /does not support the id map kind adex/);
  const script = freshConfiguration();
  script.update(domainSettings, 1, { ...member, ad_idmap_backend: 'script' });
  assert.match(
    script.issues.toIssues()['ad_idmap_backend']?.[0] ?? '',
    /Create one at directoryservice\/idmap\/script/,
  );
  const backwards = freshConfiguration();
  backwards.create(idmapRid, { idmap_rid_range_low: 9, idmap_rid_range_high: 8 });
  assert.deepEqual(backwards.issues.toIssues(), {}, 'a map that is not in use may have any range (gaps 3.4)');
  backwards.update(domainSettings, 1, member);
  assert.match(
    backwards.issues.toIssues()['ad_idmap_backend']?.[0] ?? '',
    /highest id of the rid id map, 8, must be above the lowest, 9/,
  );
});
