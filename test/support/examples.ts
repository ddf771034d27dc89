import { newKeyFiles } from '../../src/areas/services/openssh.ts';
import { problemId } from '../../src/engine/declare/problem.ts';
import { isObject, type JsonObject } from '../../src/lib/json.ts';
import type { Api } from './api.ts';
import { GiB, rootPassword } from './appliance.ts';
import { certificateRequest, exampleCertificate, exampleKey } from './certificates.ts';
import { exampleKeytab } from './keytabs.ts';

type Record_ = Readonly<Record<string, unknown>>;

/** Valid uses of one resource. Bodies are made from a number: each number makes another record. */
export interface Example {
  /** The values of the parameters in the resource's own path. */
  readonly params?: Readonly<Record<string, string>>;
  readonly create?: Body;
  /** Requests that have to be sent before a record can be created. */
  readonly first?: { readonly method: 'DELETE' | 'PUT'; readonly path: string; readonly body?: JsonObject };
  /** The resources of which a record is created first for each body; `ids` are the ids of these records. */
  readonly needs?: readonly string[];
  /** Accepted for any record that was made from these examples, and different for each number. */
  readonly update?: Body;
  /** The key of a record in paths, from its answer; its id by default. */
  readonly key?: (record: Record_) => string;
  /** The record of every new system, where none can be created. */
  readonly standing?: string;
  /** The resource whose examples create the records of this one. */
  readonly madeBy?: string;
  /**
   * The segment of the action that creates a record, where a plain POST does not; its example is that of the action.
   */
  readonly madeAt?: string;
  /** Creates a record without the documented API, where that cannot, and returns it. */
  readonly madeBeyond?: (api: Api, n: number) => Promise<Record_>;
  /** The bodies of actions, by method and segment: `POST password`. Actions without a body need no entry. */
  readonly actions?: Readonly<Record<string, ActionExample>>;
  /** Further bodies that use other features of the resource. */
  readonly variants?: readonly Variant[];
}

export type Body = (n: number, ids: readonly number[]) => JsonObject;

export interface ActionExample {
  readonly body?: (n: number, record: number) => JsonObject | readonly string[] | boolean;
  /** Creates the object of the body where that is not a record, and returns the body. */
  readonly make?: (api: Api, n: number) => Promise<JsonObject>;
  /** The record that it acts on, where not every record is suitable; `n` is the record's number. */
  readonly record?: (n: number) => JsonObject;
  /** The request to the same record that comes first, for an action that requires a certain state. */
  readonly after?: string | readonly Preparation[];
}

/** A request to the record, such as `POST scrub`. */
export interface Preparation {
  readonly send: string;
  readonly body?: (record: number) => JsonObject;
}

export interface Variant {
  readonly title: string;
  readonly verb: 'create' | 'update' | 'remove';
  readonly body: Body;
}

/** What the examples take a disk for. Each number has a disk for each of these. */
const diskUses = ['volume', 'extension', 'import', 'extent'] as const;
const diskOf = (use: (typeof diskUses)[number], n: number) => `ada${diskUses.length * n + diskUses.indexOf(use)}`;

/** What the examples take a network interface for, the same way. */
const nicUses = ['interface', 'vlan', 'moved vlan', 'lagg', 'second of lagg', 'member'] as const;
const nicOf = (use: (typeof nicUses)[number], n: number) => `em${nicUses.length * n + nicUses.indexOf(use)}`;

/** The resources whose examples take a disk or an interface of their own for each number. */
export const takesHardware: ReadonlySet<string> = new Set([
  'storage/volume',
  'storage/volume_import',
  'network/interface',
  'network/vlan',
  'network/lagg',
  'network/lagginterfacemembers',
]);

/** The disks and network interfaces of a machine on which each example can be made with the numbers below this one. */
export function exampleMachine(numbers: number): { readonly disks: readonly number[]; readonly nics: number } {
  return { disks: Array<number>(diskUses.length * numbers).fill(GiB), nics: nicUses.length * numbers };
}

const mirrored = (n: number): JsonObject => ({
  volume_name: `pool${n}`,
  layout: [{ vdevtype: 'mirror', disks: [diskOf('volume', n), diskOf('extension', n)] }],
});
const encrypted = (n: number): JsonObject => ({
  volume_name: `pool${n}`,
  encryption: true,
  layout: [{ vdevtype: 'stripe', disks: [diskOf('volume', n)] }],
});
const withPassphrase: Preparation = {
  send: 'POST keypassphrase',
  body: () => ({ passphrase: 'open sesame', passphrase2: 'open sesame' }),
};
const cached = (n: number): JsonObject => ({
  volume_name: `pool${n}`,
  layout: [
    { vdevtype: 'stripe', disks: [diskOf('volume', n)] },
    { vdevtype: 'cache', disks: [diskOf('extension', n)] },
  ],
});

/** The fields of new certificates and authorities. */
const subject = (n: number, name: string) => ({
  ...certificateRequest,
  cert_name: `${name}${n}`,
  cert_common: `${name}${n}.example.com`,
  // The shortest key: it is generated each time, and its length does not matter to the tests.
  cert_key_length: 1024,
});

const home = (n: number) => `/mnt/tank/homes/user${n}`;

/**
 * One entry per resource, ordered so that each finds what it needs. Number 0 of each is created first, in this order.
 */
export const examples: Readonly<Record<string, Example>> = {
  'storage/volume': {
    create: (n) => ({
      volume_name: n === 0 ? 'tank' : `pool${n}`,
      layout: [{ vdevtype: 'stripe', disks: [diskOf('volume', n)] }],
    }),
    variants: [
      {
        title: 'that extends one',
        verb: 'create',
        body: (n) => ({ volume_add: 'tank', layout: [{ vdevtype: 'stripe', disks: [diskOf('extension', n)] }] }),
      },
      { title: 'that is encrypted', verb: 'create', body: (n) => ({ ...encrypted(n), encryption_inirand: true }) },
      { title: 'that only lets it go', verb: 'remove', body: () => ({ destroy: false }) },
    ],
    actions: {
      'DELETE scrub': { after: 'POST scrub' },
      'POST replace': {
        body: (n, record) => ({ label: diskOf('volume', record), replace_disk: diskOf('extension', n) }),
      },
      'POST offline': { record: mirrored, body: (_, record) => ({ label: diskOf('volume', record) }) },
      'POST online': {
        record: mirrored,
        after: [{ send: 'POST offline', body: (record) => ({ label: diskOf('volume', record) }) }],
        body: (_, record) => ({ label: diskOf('volume', record) }),
      },
      'POST detach': { record: mirrored, body: (_, record) => ({ label: diskOf('volume', record) }) },
      'POST lock': { record: encrypted },
      'POST unlock': {
        record: encrypted,
        after: [withPassphrase, { send: 'POST lock' }],
        body: () => ({ passphrase: 'open sesame', services: ['cifs'] }),
      },
      'POST keypassphrase': {
        record: encrypted,
        body: (n) => ({ passphrase: `words ${n}`, passphrase2: `words ${n}` }),
      },
      'PUT keypassphrase': {
        record: encrypted,
        after: [withPassphrase],
        body: () => ({ adminpw: rootPassword, remove: true }),
      },
      'POST recoverykey': { record: encrypted, after: [withPassphrase] },
      'DELETE recoverykey': { record: encrypted, after: [{ send: 'POST recoverykey' }] },
      'POST rekey': { record: encrypted, after: [withPassphrase] },
      'POST remove': { record: cached, body: (_, record) => ({ label: diskOf('extension', record) }) },
    },
  },
  'storage/volume_import': {
    actions: {
      'POST ': {
        make: async (api, n) => {
          const name = `away${n}`;
          const { id } = await api.expect(201, 'POST', 'storage/volume/', {
            volume_name: name,
            layout: [{ vdevtype: 'stripe', disks: [diskOf('import', n)] }],
          });
          await api.expect(204, 'DELETE', `storage/volume/${String(id)}/`, { destroy: false });
          const found = (await api.list('storage/volume_import/?limit=0')).find(({ label }) => label === name);
          return { volume_id: String(found?.['id']) };
        },
      },
    },
  },
  'storage/volume/{vol}/datasets': {
    params: { vol: 'tank' },
    create: (n) => ({
      name: `data${n}`,
      comments: `Number ${n}.`,
      compression: 'gzip-6',
      quota: '500M',
      refquota: '400M',
    }),
    update: (n) => ({
      comments: `Now ${n}.`,
      compression: n % 2 === 0 ? 'lz4' : 'inherit',
      atime: n % 2 === 0 ? 'on' : 'off',
      quota: (100 + n) * 1024 ** 2,
      refquota: n * 1024 ** 2,
    }),
    key: ({ name }) => String(name).replace(/^tank\//, ''),
  },
  'storage/dataset': {
    madeBy: 'storage/volume/{vol}/datasets',
    update: (n) => ({
      comments: `Changed to ${n}.`,
      sync: n % 2 === 0 ? 'always' : 'standard',
      recordsize: n % 2 === 0 ? '16K' : 'inherit',
    }),
    key: ({ name }) => String(name),
    actions: { 'POST ': { body: (n) => ({ name: `below${n}`, readonly: 'on' }) } },
  },
  'storage/volume/{vol}/zvols': {
    params: { vol: 'tank' },
    create: (n) => ({ name: `vol${n}`, volsize: '1M', sparse: true, comments: `Number ${n}.`, compression: 'lz4' }),
    // Always larger than before: a zvol does not shrink.
    update: (n) => ({ volsize: `${2 + n}M`, comments: `Now ${n}.`, sync: n % 2 === 0 ? 'always' : 'inherit' }),
    variants: [
      {
        title: 'with its space reserved',
        verb: 'create',
        body: (n) => ({ name: `thick${n}`, volsize: '64K', blocksize: '4K', force: true }),
      },
      { title: 'with all that hangs on it', verb: 'remove', body: () => ({ cascade: true }) },
    ],
    key: ({ name }) => String(name),
  },
  'system/alert': {
    standing: problemId({ kind: 'weak', about: 'system/certificateauthority/1' }),
    actions: { 'PUT dismiss': { body: (n) => n % 2 === 0 } },
  },
  'system/bootenv': {
    create: (n) => ({ name: `be${n}`, source: 'default' }),
    key: (record) => String(record['name']),
    actions: {
      'POST rename': { body: (n) => ({ name: `renamed${n}` }) },
      'POST rename/{name}': { body: (n) => ({ name: `first${n}` }) },
    },
  },
  'storage/snapshot': {
    create: (n) => ({ dataset: 'tank', name: `snap${n}` }),
    variants: [
      { title: 'of all below', verb: 'create', body: (n) => ({ dataset: 'tank', name: `all${n}`, recursive: true }) },
    ],
    key: ({ id }) => String(id),
    actions: {
      'POST clone': { body: (n) => ({ name: `tank/clone${n}` }) },
      'POST rollback': { body: () => ({ force: true }) },
    },
  },
  // Each volume has a record from the beginning, which has to be deleted before another is created.
  'storage/scrub': {
    first: { method: 'DELETE', path: 'storage/scrub/tank/' },
    create: (n) => ({ scrub_volume: 'tank', scrub_threshold: n }),
    update: (n) => ({ scrub_threshold: 10 + n, scrub_hour: '*/2', scrub_enabled: n % 2 === 0 }),
  },
  'storage/task': {
    create: (n) => ({
      task_filesystem: 'tank',
      task_recursive: n % 2 === 0,
      task_ret_count: 1 + n,
      task_ret_unit: 'day',
    }),
    update: (n) => ({
      task_ret_count: 2 + n,
      task_interval: n % 2 === 0 ? 15 : 1440,
      task_byweekday: '6,7',
      task_begin: '08:30:00',
    }),
  },
  'storage/replication': {
    create: (n) => ({
      repl_filesystem: 'tank',
      repl_zfs: `backup/copy${n}`,
      repl_remote_hostname: `backup${n}.example.com`,
      repl_remote_hostkey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFh0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0ZXN0',
    }),
    update: (n) => ({
      repl_limit: n,
      repl_compression: n % 2 === 0 ? 'off' : 'pigz',
      repl_userepl: true,
      repl_remote_hostname: `other${n}.example.com`,
    }),
    variants: [
      {
        title: 'that asks the other machine',
        verb: 'create',
        body: (n) => ({
          repl_filesystem: 'tank',
          repl_zfs: `backup/asked${n}`,
          repl_remote_hostname: `asked${n}.example.com`,
          repl_remote_mode: 'SEMIAUTOMATIC',
          repl_remote_token: `given out ${n}`,
        }),
      },
    ],
    actions: { 'POST pair': { body: (n) => ({ key: `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFh${n}`, user: 'root' }) } },
  },
  'storage/permission': {
    actions: {
      'PUT ': {
        body: (n) => ({
          mp_path: '/mnt/tank/',
          mp_acl: n % 3 === 0 ? 'windows' : 'unix',
          mp_mode: '755',
          mp_user: 'root',
          mp_group: 'wheel',
          mp_recursive: n % 2 === 0,
        }),
      },
    },
  },
  'storage/disk': {
    standing: '{serial}VIRT0001',
    update: (n) => ({
      disk_description: `Disk ${n}`,
      disk_hddstandby: n % 2 === 0 ? '30' : 'Always On',
      disk_advpowermgmt: n % 2 === 0 ? '127' : '1',
      disk_togglesmart: n % 2 === 0,
    }),
    variants: [{ title: 'that only says something', verb: 'update', body: (n) => ({ disk_description: `Only ${n}` }) }],
  },
  'account/groups': {
    create: (n) => ({ bsdgrp_group: `group${n}`, bsdgrp_sudo: n % 2 === 1 }),
    update: (n) => ({ bsdgrp_group: `renamed${n}`, bsdgrp_sudo: n % 2 === 0 }),
  },
  'account/users': {
    create: (n) => ({
      bsdusr_username: `user${n}`,
      bsdusr_full_name: `User ${n}`,
      bsdusr_password: `secret ${n}`,
      bsdusr_creategroup: true,
      bsdusr_home: home(n),
      bsdusr_sudo: n % 2 === 1,
      bsdusr_sshpubkey: sshKey(n),
    }),
    update: (n) => ({
      bsdusr_full_name: `Renamed ${n}`,
      bsdusr_locked: n % 2 === 1,
      bsdusr_shell: n % 2 === 1 ? '/bin/bash' : '/bin/sh',
      bsdusr_email: `user${n}@example.com`,
      bsdusr_sshpubkey: sshKey(n + 100),
    }),
    variants: [
      {
        title: 'without a home or a password',
        verb: 'create',
        body: (n) => ({
          bsdusr_username: `user${n}`,
          bsdusr_full_name: 'X',
          bsdusr_password_disabled: true,
          bsdusr_group: 35,
        }),
      },
      { title: 'that gives a new password', verb: 'update', body: (n) => ({ bsdusr_password: `another ${n}` }) },
      {
        title: 'that gives a new home',
        verb: 'update',
        body: (n) => ({ bsdusr_home: `/mnt/tank/moved/${n}/home`, bsdusr_mode: '700' }),
      },
      {
        title: 'that gives the home other permissions',
        verb: 'update',
        body: (n) => ({ bsdusr_mode: n % 2 === 0 ? '750' : '711' }),
      },
      {
        title: 'that changes name and number',
        verb: 'update',
        body: (n) => ({ bsdusr_username: `other${n}`, bsdusr_uid: 5000 + n }),
      },
      { title: 'that puts it into groups', verb: 'update', body: () => ({ bsdusr_to_group: [35, 34] }) },
    ],
    actions: {
      'POST password': { body: (n) => ({ bsdusr_password: `changed ${n}` }) },
      'POST groups': { body: (n) => (n % 2 === 0 ? ['media', 'www'] : ['webdav']) },
    },
  },
  'jails/configuration': {
    update: (n) => ({
      jc_path: '/mnt/tank',
      jc_ipv4_network: `10.${n % 200}.0.0/16`,
      jc_ipv4_network_start: `10.${n % 200}.1.1`,
      jc_ipv4_network_end: `10.${n % 200}.1.250`,
      jc_ipv6_network: `fd00:${n}::/64`,
    }),
  },
  'jails/templates': {
    create: (n) => ({
      jt_name: `template${n}`,
      jt_os: n % 2 === 0 ? 'Linux' : 'FreeBSD',
      jt_arch: 'x64',
      jt_url: `https://example.com/template${n}.tar.gz`,
    }),
    update: (n) => ({ jt_url: `ftp://example.com/other${n}.tar.xz`, jt_arch: n % 2 === 0 ? 'x86' : 'x64' }),
  },
  'jails/jails': {
    first: { method: 'PUT', path: 'jails/configuration/', body: { jc_path: '/mnt/tank' } },
    create: (n) => ({
      jail_host: `jail${n}`,
      jail_ipv4: `10.201.${Math.floor(n / 250)}.${1 + (n % 250)}`,
      jail_autostart: n % 2 === 0,
      jail_nat: n % 3 === 0,
      jail_flags: `tasks=${100 + n}`,
    }),
    actions: { 'POST start': { after: 'POST stop' } },
  },
  'jails/mountpoints': {
    // The first jail stays, and runs.
    create: (n) => ({ jail: 'jail0', source: '/mnt/tank', destination: `/mnt/place${n}` }),
    update: (n) => ({ destination: `/mnt/other${n}`, readonly: n % 2 === 0 }),
    variants: [{ title: 'that is not mounted', verb: 'update', body: () => ({ mounted: false }) }],
  },
  'plugins/plugins': {
    first: { method: 'PUT', path: 'jails/configuration/', body: { jc_path: '/mnt/tank' } },
    async madeBeyond(api, n) {
      const home = `home${n}`;
      await api.expect(201, 'POST', 'jails/jails/', {
        jail_host: home,
        jail_ipv4: `10.202.${Math.floor(n / 250)}.${1 + (n % 250)}`,
      });
      return api.expect(200, 'POST', '/api/holdfast/v1/plugins', {
        bundle: '/usr/share/holdfast/plugins/webpage',
        jail: home,
        enabled: n % 2 === 0,
      });
    },
    actions: { 'POST stop': { after: 'POST start' }, 'DELETE ': { after: 'POST start' } },
  },
  'network/interface': {
    create: (n) => ({
      int_name: `Interface ${n}`,
      int_interface: nicOf('interface', n),
      int_ipv4address: `10.${n}.0.1`,
      int_v4netmaskbit: '16',
      int_aliases: [`10.${n}.0.2/32`, `2001:db8:${n}::2/64`],
      int_options: n % 2 === 0 ? 'up mtu 9000 media 100baseTX mediaopt half-duplex' : 'up',
    }),
    update: (n) => ({
      int_name: `Renamed ${n}`,
      int_ipv6address: `2001:db8:ffff:${n}::1`,
      int_v6netmaskbit: '64',
      int_aliases: [`172.16.${n}.1/24`],
      int_options: n % 2 === 0 ? 'promisc' : '',
    }),
    variants: [{ title: 'that loses its aliases', verb: 'update', body: (n) => ({ int_name: `Alone ${n}` }) }],
  },
  'network/globalconfiguration': {
    update: (n) => ({
      gc_hostname: `nas${n}`,
      gc_domain: 'example.com',
      gc_domains: 'a.example.com b.example.com',
      gc_ipv4gateway: n % 2 === 0 ? '10.0.0.254' : '',
      gc_nameserver1: `192.0.2.${n % 250}`.replace(/\.0$/, '.250'),
      gc_netwait_enabled: n % 2 === 0,
      gc_hosts: `192.0.2.9 other${n}`,
      gc_httpproxy: n % 2 === 0 ? 'proxy.example.com:3128' : '',
    }),
  },
  'network/vlan': {
    create: (n) => ({
      vlan_vint: `vlan${n}`,
      vlan_pint: nicOf('vlan', n),
      vlan_tag: 1 + n,
      vlan_description: `Number ${n}`,
    }),
    update: (n) => ({ vlan_description: `Changed ${n}`, vlan_tag: 2000 + n, vlan_pcp: n % 8 }),
    variants: [
      {
        title: 'on an interface that has a record',
        verb: 'create',
        body: (n) => ({ vlan_vint: `vlan${n}`, vlan_pint: 'em0', vlan_tag: 1 + n }),
      },
      {
        title: 'that renames it and moves it',
        verb: 'update',
        body: (n) => ({ vlan_vint: `vlan${1000 + n}`, vlan_pint: nicOf('moved vlan', n) }),
      },
    ],
  },
  'network/lagg': {
    create: (n) => ({
      lagg_protocol: ['failover', 'lacp', 'loadbalance', 'roundrobin', 'fec'][n % 5] ?? 'lacp',
      lagg_interfaces: [nicOf('lagg', n), nicOf('second of lagg', n)],
    }),
  },
  'network/lagginterfacemembers': {
    needs: ['network/lagg'],
    create: (n, [lagg = 1]) => ({
      lagg_interfacegroup: lagg,
      lagg_ordernum: 10 + n,
      lagg_physnic: nicOf('member', n),
      lagg_deviceoptions: n % 2 === 0 ? 'up' : 'up mtu 9000',
    }),
    update: (n) => ({ lagg_ordernum: n, lagg_deviceoptions: n % 2 === 0 ? 'up promisc' : 'up mtu 4000' }),
  },
  'network/staticroute': {
    create: (n) => ({
      sr_destination: `10.${100 + (n % 100)}.${Math.floor(n / 100)}.0/24`,
      sr_gateway: '10.0.0.253',
      sr_description: `Route ${n}`,
    }),
    update: (n) => ({ sr_gateway: `10.0.1.${1 + (n % 200)}`, sr_description: `Changed ${n}` }),
  },
  'tasks/cronjob': {
    create: (n) => ({
      cron_user: 'root',
      cron_command: `echo ${n}`,
      cron_description: `Job ${n}`,
      cron_minute: String(n % 60),
    }),
    update: (n) => ({ cron_command: `echo changed ${n}`, cron_enabled: n % 4 !== 0, cron_hour: '*/2' }),
  },
  'tasks/initshutdown': {
    create: (n) => ({ ini_command: `echo ${n}`, ini_when: ['preinit', 'postinit', 'shutdown'][n % 3] ?? 'preinit' }),
    update: (n) => ({ ini_command: `echo changed ${n}`, ini_enabled: n % 2 === 0 }),
  },
  'tasks/rsync': {
    create: (n) => ({
      rsync_path: '/mnt/tank/',
      rsync_user: 'root',
      rsync_remotehost: 'backup.example.com',
      rsync_remotemodule: `store${n}`,
      rsync_desc: `Copy ${n}`,
    }),
    update: (n) => ({
      rsync_extra: `--bwlimit=${n}`,
      rsync_direction: n % 2 === 0 ? 'push' : 'pull',
      rsync_delete: true,
      rsync_hour: '*/2',
    }),
  },
  'tasks/smarttest': {
    create: (n) => ({
      smarttest_disks: [`{serial}VIRT${String((n % 128) + 1).padStart(4, '0')}`],
      smarttest_type: ['L', 'S', 'C', 'O'][Math.floor(n / 128) % 4] ?? 'L',
    }),
    update: (n) => ({ smarttest_desc: `Changed ${n}`, smarttest_hour: String(n % 24), smarttest_dayweek: '6,7' }),
  },
  'sharing/cifs': {
    create: (n) => ({
      cifs_path: `/mnt/tank/shares/of/share${n}`,
      cifs_name: `share${n}`,
      cifs_comment: `Share ${n}`,
      cifs_hostsallow: '192.0.2.0/24 client.example.com',
    }),
    update: (n) => ({ cifs_comment: `Changed ${n}`, cifs_ro: n % 2 === 1, cifs_timemachine: n % 2 === 0 }),
    variants: [
      {
        title: 'in a folder that is there',
        verb: 'create',
        body: (n) => ({ cifs_path: '/mnt/tank', cifs_name: `there${n}`, cifs_default_permissions: false }),
      },
      {
        title: 'that gives default permissions',
        verb: 'create',
        body: (n) => ({ cifs_path: `/mnt/tank/open${n}`, cifs_name: `open${n}`, cifs_default_permissions: true }),
      },
      { title: 'that moves it', verb: 'update', body: (n) => ({ cifs_path: `/mnt/tank/moved/share${n}` }) },
    ],
  },
  'services/iscsi/globalconfiguration': {
    update: (n) => ({
      iscsi_basename: `iqn.2026-01.com.example:store${n}`,
      iscsi_isns_servers: '192.0.2.9:3205',
      iscsi_pool_avail_threshold: 80,
    }),
  },
  'services/iscsi/extent': {
    create: (n) => ({
      iscsi_target_extent_name: `extent${n}`,
      iscsi_target_extent_type: 'File',
      iscsi_target_extent_path: `/mnt/tank/iscsi/of/extent${n}`,
      iscsi_target_extent_filesize: '64KB',
    }),
    update: (n) => ({
      iscsi_target_extent_comment: `Changed ${n}`,
      iscsi_target_extent_filesize: '128KB',
      iscsi_target_extent_rpm: n % 2 === 0 ? '7200' : 'SSD',
    }),
    variants: [
      {
        title: 'of a disk',
        verb: 'create',
        body: (n) => ({ iscsi_target_extent_name: `disk${n}`, iscsi_target_extent_disk: diskOf('extent', n % 8) }),
      },
      {
        title: 'that moves it',
        verb: 'update',
        body: (n) => ({ iscsi_target_extent_path: `/mnt/tank/iscsi/moved/${n}`, iscsi_target_extent_filesize: '64KB' }),
      },
      { title: 'with its file', verb: 'remove', body: () => ({ delete: true }) },
    ],
  },
  'services/iscsi/authorizedinitiator': {
    create: (n) => ({
      iscsi_target_initiator_initiators: `iqn.2026-01.com.example:client${n}`,
      iscsi_target_initiator_auth_network: '192.0.2.0/24',
      iscsi_target_initiator_comment: `Clients ${n}`,
    }),
    update: (n) => ({
      iscsi_target_initiator_initiators: n % 2 === 0 ? 'ALL' : `iqn.a iqn.b${n}`,
      iscsi_target_initiator_auth_network: '192.0.2.7 2001:db8::/32',
    }),
  },
  'services/iscsi/authcredential': {
    create: (n) => ({
      iscsi_target_auth_tag: 1 + n,
      iscsi_target_auth_user: `joe${n}`,
      iscsi_target_auth_secret: 'secretsecret12',
      iscsi_target_auth_peeruser: 'peer',
      iscsi_target_auth_peersecret: 'othersecret12',
    }),
    update: (n) => ({ iscsi_target_auth_user: `jane${n}`, iscsi_target_auth_secret: 'secretsecret34' }),
  },
  'services/iscsi/target': {
    create: (n) => ({ iscsi_target_name: `target${n}`, iscsi_target_alias: `Number ${n}` }),
    update: (n) => ({ iscsi_target_name: `iqn.2026-02.com.example:renamed${n}`, iscsi_target_alias: '' }),
  },
  'services/iscsi/portal': {
    create: (n) => ({ iscsi_target_portal_ips: [`0.0.0.0:${3260 + n}`], iscsi_target_portal_comment: `Portal ${n}` }),
    update: (n) => ({
      iscsi_target_portal_ips: [`127.0.0.1:${13260 + n}`, `[::1]:${13260 + n}`],
      iscsi_target_portal_comment: `Changed ${n}`,
    }),
  },
  'services/iscsi/targetgroup': {
    needs: ['services/iscsi/target', 'services/iscsi/portal', 'services/iscsi/authorizedinitiator'],
    create: (_, [target = 1, portal = 1, initiators = 1]) => ({
      iscsi_target: target,
      iscsi_target_portalgroup: portal,
      iscsi_target_initiatorgroup: initiators,
    }),
    update: (n) => ({ iscsi_target_initiatorgroup: null, iscsi_target_authgroup: n % 2 === 0 ? -1 : null }),
  },
  'services/iscsi/targettoextent': {
    needs: ['services/iscsi/target', 'services/iscsi/extent'],
    create: (_, [target = 1, extent = 1]) => ({ iscsi_target: target, iscsi_extent: extent, iscsi_lunid: null }),
    update: (n) => ({ iscsi_lunid: n % 1024 }),
  },
  'sharing/nfs': {
    create: (n) => ({
      nfs_paths: [`/mnt/tank/nfs/share${n}`],
      nfs_comment: `Share ${n}`,
      nfs_hosts: `host${n}.example.com 192.0.2.${n % 250}`,
      nfs_maproot_user: 'root',
    }),
    update: (n) => ({ nfs_comment: `Changed ${n}`, nfs_ro: n % 2 === 1, nfs_alldirs: n % 2 === 0 }),
    variants: [
      {
        title: 'of two folders',
        verb: 'create',
        body: (n) => ({ nfs_paths: [`/mnt/tank/nfs/a${n}`, `/mnt/tank/nfs/b${n}`], nfs_hosts: `two${n}.example.com` }),
      },
    ],
  },
  'sharing/afp': {
    create: (n) => ({
      afp_path: `/mnt/tank/afp/share${n}`,
      afp_name: `Share ${n}`,
      afp_comment: `Share ${n}`,
      afp_allow: 'root @wheel',
      afp_hostsallow: '192.0.2.0/24',
    }),
    update: (n) => ({
      afp_comment: `Changed ${n}`,
      afp_ro: n % 2 === 1 ? 'nobody' : '',
      afp_timemachine: n % 2 === 0,
      afp_timemachine_quota: n,
    }),
    variants: [{ title: 'that moves it', verb: 'update', body: (n) => ({ afp_path: `/mnt/tank/moved/afp${n}` }) }],
  },
  'sharing/webdav': {
    create: (n) => ({
      webdav_name: `share${n}`,
      webdav_path: `/mnt/tank/dav/share${n}/`,
      webdav_comment: `Share ${n}`,
    }),
    update: (n) => ({ webdav_comment: `Changed ${n}`, webdav_ro: n % 2 === 1, webdav_perm: n % 2 === 0 }),
    variants: [
      {
        title: 'of a name that is taken',
        verb: 'create',
        body: (n) => ({ webdav_name: 'twice', webdav_path: `/mnt/tank/dav/twice${n}`, webdav_perm: false }),
      },
    ],
  },
  'services/webdav': {
    update: (n) => ({
      webdav_tcpport: 9000 + n,
      webdav_htauth: n % 2 === 0 ? 'basic' : 'digest',
      webdav_password: `password ${n}`,
    }),
  },
  'services/afp': {
    update: (n) => ({
      afp_srv_connections_limit: 1 + (n % 900),
      afp_srv_guest: n % 2 === 0,
      afp_srv_bindip: ['192.0.2.7'],
      afp_srv_dbpath: '/mnt/tank/.cnid',
    }),
  },
  'services/nfs': {
    update: (n) => ({
      nfs_srv_servers: 4 + (n % 200),
      nfs_srv_v4: n % 2 === 0,
      nfs_srv_allow_nonroot: n % 2 === 1,
      nfs_srv_mountd_port: 600 + (n % 50),
    }),
  },
  'services/services': { standing: 'cifs', update: (n) => ({ srv_enable: n % 2 === 1 }) },
  'services/cifs': {
    update: (n) => ({
      cifs_srv_description: `Server ${n}`,
      cifs_srv_netbiosname: `holdfast${n}`,
      cifs_srv_loglevel: n % 2 === 0 ? '1' : '2',
      cifs_srv_bindip: ['192.0.2.7'],
    }),
    variants: [
      {
        title: 'that is a reload only',
        verb: 'update',
        body: (n) => ({ cifs_srv_guest: n % 2 === 0 ? 'nobody' : 'www' }),
      },
    ],
  },
  'directoryservice/activedirectory': {
    update: (n) => ({
      ad_enable: true,
      ad_domainname: 'corp.example.com',
      ad_bindname: 'Administrator',
      ad_bindpw: 'domain secret',
      ad_dcname: n % 2 === 0 ? 'dc1.corp.example.com' : 'dc2.corp.example.com:389',
      ad_gcname: 'dc1.corp.example.com',
      ad_site: n % 3 === 0 ? null : 'Cellar',
      ad_use_default_domain: n % 2 === 1,
      ad_enable_monitor: n % 2 === 0,
      ad_monitor_frequency: 30 + (n % 1000),
    }),
    variants: [
      {
        title: 'of a member',
        verb: 'update',
        body: (n) => ({ ad_timeout: 1 + (n % 500), ad_verbose_logging: n % 2 === 0 }),
      },
      { title: 'that joins or leaves', verb: 'update', body: (n) => ({ ad_enable: n % 2 === 0 }) },
      { title: 'that is not used', verb: 'update', body: (n) => ({ ad_enable: false, ad_timeout: 1 + (n % 500) }) },
    ],
  },
  'directoryservice/idmap/ad': {
    create: (n) => ({ idmap_ad_range_low: 10_000 + n, idmap_ds_type: 1, idmap_ds_id: 1 }),
    update: (n) => ({ idmap_ad_schema_mode: n % 2 === 0 ? 'sfu' : 'rfc2307', idmap_ad_range_high: 80_000_000 + n }),
  },
  'directoryservice/idmap/adex': {
    create: (n) => ({ idmap_adex_range_low: 10_000 + n }),
    update: (n) => ({ idmap_adex_range_high: 80_000_000 + n }),
  },
  'directoryservice/idmap/autorid': {
    create: (n) => ({ idmap_autorid_range_low: 10_000 + n }),
    update: (n) => ({ idmap_autorid_rangesize: 20_000 + n, idmap_autorid_readonly: n % 2 === 0 }),
  },
  'directoryservice/idmap/fruit': {
    create: (n) => ({ idmap_fruit_range_low: 10_000 + n }),
    update: (n) => ({ idmap_fruit_range_high: 80_000_000 + n }),
  },
  'directoryservice/idmap/hash': {
    create: (n) => ({ idmap_hash_range_name_map: `/etc/name_map.${n}` }),
    update: (n) => ({ idmap_hash_range_high: 100_000_000 + n, idmap_hash_range_name_map: `/etc/other_map.${n}` }),
  },
  'directoryservice/idmap/ldap': {
    create: (n) => ({
      idmap_ldap_ldap_url: `ldap://ldap${n}.example.com`,
      idmap_ldap_ldap_base_dn: 'ou=idmap,dc=example,dc=com',
    }),
    update: (n) => ({
      idmap_ldap_ldap_url: `ldap://other${n}.example.com:3890`,
      idmap_ldap_ssl: n % 2 === 0 ? 'on' : 'start_tls',
    }),
  },
  'directoryservice/idmap/nss': {
    create: (n) => ({ idmap_ad_range_low: 10_000 + n }),
    update: (n) => ({ idmap_ad_range_high: 80_000_000 + n }),
    variants: [
      {
        title: 'by the names of the sources',
        verb: 'create',
        body: (n) => ({ idmap_nss_range_low: 20_000 + n, idmap_nss_range_high: 70_000_000 }),
      },
    ],
  },
  'directoryservice/idmap/rfc2307': {
    create: (n) => ({
      idmap_rfc2307_bind_path_user: `ou=people${n},dc=example,dc=com`,
      idmap_rfc2307_bind_path_group: 'ou=groups,dc=example,dc=com',
    }),
    update: (n) => ({
      idmap_rfc2307_user_cn: n % 2 === 0,
      idmap_rfc2307_ldap_server: 'stand-alone',
      idmap_rfc2307_ldap_url: `ldap://ldap${n}.example.com`,
    }),
  },
  'directoryservice/idmap/rid': {
    create: (n) => ({ idmap_rid_range_low: 20_000 + n }),
    update: (n) => ({ idmap_rid_range_high: 80_000_000 + n }),
  },
  'directoryservice/idmap/script': {
    create: (n) => ({ idmap_script_script: `/usr/local/bin/map${n}` }),
    update: (n) => ({ idmap_script_script: `/usr/local/bin/other${n}`, idmap_script_range_high: 100_000_000 + n }),
  },
  'directoryservice/idmap/tdb': {
    create: (n) => ({ idmap_tdb_range_low: 90_000_001 + n, idmap_ds_type: 5, idmap_ds_id: 1 }),
    update: (n) => ({ idmap_tdb_range_high: 100_000_000 + n }),
  },
  'directoryservice/idmap/tdb2': {
    create: (n) => ({ idmap_tdb2_range_low: 90_000_001 + n, idmap_tdb2_script: '/usr/local/bin/map' }),
    update: (n) => ({ idmap_tdb2_script: `/usr/local/bin/other${n}` }),
  },
  'directoryservice/kerberosrealm': {
    create: (n) => ({ krb_realm: `REALM${n}.EXAMPLE.COM`, krb_kdc: `kdc${n}.example.com` }),
    update: (n) => ({ krb_kdc: `kdc${n}.example.com:88 192.0.2.${n % 250}`, krb_admin_server: `kdc${n}.example.com` }),
  },
  'directoryservice/kerberoskeytab': {
    create: (n) => ({ keytab_name: `keytab${n}`, keytab_file: exampleKeytab(`nfs${n}`) }),
    update: (n) => ({ keytab_file: exampleKeytab(`host${n}`) }),
  },
  'directoryservice/kerberosprincipal': { madeBy: 'directoryservice/kerberoskeytab' },
  'directoryservice/kerberossettings': { update: (n) => ({ ks_libdefaults_aux: `ticket_lifetime = ${n}h` }) },
  'directoryservice/ldap': {
    update: (n) => ({
      ldap_enable: true,
      ldap_hostname: 'ldap.example.com',
      ldap_basedn: 'dc=example,dc=com',
      ldap_binddn: 'cn=reader,dc=example,dc=com',
      ldap_bindpw: 'directory secret',
      ldap_usersuffix: `ou=people${n}`,
    }),
    variants: [{ title: 'that is not used', verb: 'update', body: (n) => ({ ldap_enable: false, ldap_timeout: n }) }],
  },
  'directoryservice/nis': {
    update: (n) => ({ nis_enable: n % 2 === 0, nis_domain: `domain${n}`, nis_servers: '192.0.2.7, yp.example.com' }),
  },
  'system/certificateauthority': {
    madeAt: 'internal',
    actions: {
      'POST internal': { body: (n) => subject(n, 'root') },
      'POST intermediate': { body: (n) => ({ ...subject(n, 'intermediate'), cert_signedby: 1 }) },
      'POST import': {
        body: (n) => ({
          cert_name: `importedroot${n}`,
          cert_certificate: exampleCertificate,
          cert_privatekey: exampleKey,
          cert_serial: null,
        }),
      },
    },
  },
  'system/certificate': {
    madeAt: 'csr',
    actions: {
      'POST internal': { body: (n) => ({ ...subject(n, 'host'), cert_signedby: 1 }) },
      'POST csr': { body: (n) => subject(n, 'request') },
      'POST import': {
        body: (n) => ({
          cert_name: `imported${n}`,
          cert_certificate: exampleCertificate,
          cert_privatekey: exampleKey,
          cert_serial: null,
        }),
      },
    },
  },
  'system/config': {
    actions: {
      'POST factory_restore': {
        async make(api, n) {
          await api.expect(201, 'POST', 'tasks/cronjob/', { cron_user: 'root', cron_command: `echo ${n}` });
          await api.expect(201, 'POST', 'system/tunable/', {
            tun_var: 'vm.swappiness',
            tun_value: '10',
            tun_type: 'sysctl',
          });
          await api.expect(200, 'PUT', 'system/settings/', { stg_timezone: 'Europe/Berlin', stg_guiport: 8000 });
          return {};
        },
      },
    },
  },
  'system/advanced': {
    update: (n) => ({
      adv_motd: `Welcome ${n}`,
      adv_powerdaemon: n % 2 === 0,
      adv_consolemenu: n % 2 === 1,
      adv_autotune: n % 2 === 1,
    }),
    variants: [
      {
        title: 'that concerns the next start',
        verb: 'update',
        body: (n) => ({ adv_serialconsole: n % 2 === 1, adv_serialspeed: n % 3 === 0 ? '9600' : '115200' }),
      },
    ],
  },
  'system/email': {
    update: (n) => ({
      em_fromemail: `nas${n}@example.com`,
      em_outgoingserver: 'mail.example.com',
      em_smtp: true,
      em_user: 'nas',
      em_pass: `secret ${n}`,
    }),
  },
  'system/ntpserver': {
    create: (n) => ({ ntp_address: `ntp${n}.example.com` }),
    update: (n) => ({ ntp_prefer: n % 2 === 1, ntp_maxpoll: 11 + (n % 5) }),
  },
  'system/settings': {
    update: (n) => ({
      stg_guiport: 8000 + n,
      stg_timezone: n % 2 === 0 ? 'Europe/Berlin' : 'America/New_York',
      stg_syslogserver: `log${n}.example.com:5140`,
    }),
    variants: [
      {
        title: 'that only says something',
        verb: 'update',
        body: (n) => ({ stg_language: n % 2 === 0 ? 'de' : 'en', stg_kbdmap: n % 2 === 0 ? 'de' : 'us.intl' }),
      },
    ],
  },
  'system/tunable': {
    create: (n) => ({ tun_var: `option${n}`, tun_value: String(n), tun_comment: 'Loader' }),
    update: (n) => ({ tun_value: `9${n}`, tun_enabled: n % 2 === 0 }),
    variants: [
      {
        title: 'of the running kernel',
        verb: 'create',
        body: (n) => ({ tun_var: `net.ipv4.conf.eth${n}.rp_filter`, tun_value: String(n), tun_type: 'sysctl' }),
      },
      {
        title: 'of a module',
        verb: 'create',
        body: (n) => ({ tun_var: `zfs.option${n}`, tun_value: '1', tun_type: 'rc' }),
      },
    ],
  },
  'services/ftp': {
    update: (n) => ({
      ftp_banner: `Welcome ${n}`,
      ftp_clients: 1 + n,
      ftp_onlyanonymous: n % 2 === 1,
      ftp_anonpath: '/mnt/tank',
    }),
  },
  'services/lldp': { update: (n) => ({ lldp_intdesc: n % 2 === 0, lldp_country: 'DE', lldp_location: `Rack ${n}` }) },
  'services/rsyncd': { update: (n) => ({ rsyncd_port: 8000 + n, rsyncd_auxiliary: `timeout = ${n}` }) },
  'services/rsyncmod': {
    create: (n) => ({
      rsyncmod_name: `module${n}`,
      rsyncmod_path: '/mnt/tank',
      rsyncmod_comment: `Module ${n}`,
      rsyncmod_maxconn: n,
      rsyncmod_hostsallow: '192.0.2.0/24',
    }),
    update: (n) => ({
      rsyncmod_mode: n % 2 === 0 ? 'ro' : 'rw',
      rsyncmod_hostsdeny: '192.0.2.1, 192.0.2.2',
      rsyncmod_auxiliary: `timeout = ${n}`,
    }),
  },
  'services/domaincontroller': {
    update: (n) => ({
      dc_realm: `corp${n}.example.com`,
      dc_domain: `CORP${n}`,
      dc_dns_forwarder: '192.0.2.53',
      dc_passwd: `Secret ${n}`,
      dc_forest_level: '2012_R2',
    }),
  },
  'services/dynamicdns': {
    update: (n) => ({
      ddns_provider: 'default@no-ip.com',
      ddns_domain: `nas${n}.example.com, two.example.com`,
      ddns_username: 'mary',
      ddns_password: `secret ${n}`,
      ddns_period: 60 + n,
    }),
  },
  'services/smart': {
    update: (n) => ({
      smart_interval: 1 + n,
      smart_powermode: n % 2 === 0 ? 'standby' : 'idle',
      smart_critical: 40 + n,
      smart_email: 'a@example.com b@example.com',
    }),
  },
  'services/snmp': {
    update: (n) => ({
      snmp_location: `Rack ${n}`,
      snmp_community: `readers${n}`,
      snmp_v3: true,
      snmp_v3_username: 'monitor',
      snmp_v3_password: `a long secret ${n}`,
      snmp_loglevel: n % 8,
      snmp_options: 'trap2sink 192.0.2.9',
    }),
  },
  'services/ssh': {
    update: (n) => ({
      ssh_tcpport: 2200 + n,
      ssh_rootlogin: n % 2 === 0,
      ssh_passwordauth: true,
      ssh_sftp_log_level: 'INFO',
      ssh_options: `MaxAuthTries ${1 + n}`,
    }),
    variants: [
      {
        title: 'with a key of its own',
        verb: 'update',
        body: (n) => ({ ssh_privatekey: newKeyFiles('ed25519', `key ${n}`).key }),
      },
    ],
  },
  'services/ups': {
    update: (n) => ({
      ups_driver: 'dummy-ups$Model',
      ups_port: `/etc/nut/ups${n}.dev`,
      ups_shutdown: n % 2 === 0 ? 'batt' : 'lowbatt',
      ups_emailnotify: n % 2 === 1,
      ups_toemail: 'a@example.com',
    }),
    variants: [
      {
        title: 'as a slave',
        verb: 'update',
        body: (n) => ({ ups_mode: 'slave', ups_remotehost: `nas${n}.example.com` }),
      },
    ],
  },
  'services/tftp': {
    update: (n) => ({
      tftp_directory: '/mnt/tank',
      tftp_newfiles: n % 2 === 0,
      tftp_port: 6000 + n,
      tftp_options: `--blocksize ${512 + n}`,
    }),
  },
};

/** The body as an object to extend; a list has no members. */
export function exampleBody(path: string, verb: 'create' | 'update', n: number): Record_ {
  const body = examples[path]?.[verb]?.(n, []);
  return isObject(body) ? body : {};
}

/** A public key of the right form without a private key. */
function sshKey(n: number): string {
  const kind = Buffer.from('\0\0\0\x0bssh-ed25519\0\0\0 ', 'latin1');
  return `ssh-ed25519 ${Buffer.concat([kind, Buffer.alloc(32, n)]).toString('base64')} user${n}\n`;
}
