/**
 * The request sequences of programs that exist, sent with a key of the role that fits instead of the password of root: as
 * user name and password of Basic, as these programs do. What is refused is listed with the reason, and so is
 * docs/keys.md.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { isObject } from '../../src/lib/json.ts';
import type { Api, ApiAnswer } from '../support/api.ts';
import { type Appliance, appliance } from '../support/appliance.ts';
import { withKey } from '../support/keys.ts';

/** What a request is answered: its status, or why the key may not send it. */
type Expected = number | RegExp;

interface Sent {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** `{name}` is the id of the result of the request with this name. */
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly name?: string;
  readonly expect: Expected;
}

interface Program {
  /** As in the table of docs/keys.md. */
  readonly name: string;
  readonly key: Readonly<Record<string, unknown>>;
  readonly requests: readonly Sent[];
}

const sent =
  (method: Sent['method']) =>
  (path: string, expect: Expected, body?: Sent['body'], name?: string): Sent => ({
    ...{ method, path, expect },
    ...(body && { body }),
    ...(name !== undefined && { name }),
  });
const [get, post, put, remove] = [sent('GET'), sent('POST'), sent('PUT'), sent('DELETE')];

const provisioner = { role: 'provisioner', dataset: 'tank/k8s' };
const link = (lun: number | null = null) => ({ iscsi_target: '{target}', iscsi_extent: '{extent}', iscsi_lunid: lun });
const group = {
  iscsi_target: '{target}',
  iscsi_target_portalgroup: '{portal}',
  iscsi_target_initiatorgroup: null,
  iscsi_target_authtype: 'None',
  iscsi_target_authgroup: null,
};
const zvolExtent = (zvol: string) => ({
  iscsi_target_extent_name: zvol.replaceAll('/', '-'),
  iscsi_target_extent_type: 'Disk',
  iscsi_target_extent_disk: `zvol/tank/${zvol}`,
  iscsi_target_extent_rpm: 'SSD',
});

/** What a driver of a hypervisor or a cluster does for one disk, from its creation to its removal. */
const disk = (zvol: string): readonly Sent[] => [
  get('services/iscsi/globalconfiguration/', 200),
  get('services/iscsi/portal/?limit=0', 200, undefined, 'portal'),
  get('storage/volume/tank/zvols/?limit=0', 200),
  post('storage/volume/tank/zvols/', 202, { name: zvol, volsize: '16M', sparse: true }),
  get(`storage/volume/tank/zvols/${zvol}/`, 200),
  post('services/iscsi/target/', 201, { iscsi_target_name: zvol.replaceAll('/', '-') }, 'target'),
  post('services/iscsi/targetgroup/', 201, group, 'group'),
  post('services/iscsi/extent/', 201, zvolExtent(zvol), 'extent'),
  post('services/iscsi/targettoextent/', 201, link(), 'link'),
  put(`storage/volume/tank/zvols/${zvol}/`, 201, { volsize: '32M' }),
  post('storage/snapshot/', 201, { dataset: `tank/${zvol}`, name: 'one' }),
  get('storage/snapshot/?limit=0', 200),
  post(`storage/snapshot/tank/${zvol}@one/clone/`, 202, { name: `tank/${zvol}-copy` }),
  remove(`storage/volume/tank/zvols/${zvol}-copy/`, 204),
  remove('services/iscsi/targettoextent/{link}/', 204),
  remove('services/iscsi/targetgroup/{group}/', 204),
  remove('services/iscsi/extent/{extent}/', 204),
  remove('services/iscsi/target/{target}/', 204),
  remove(`storage/snapshot/tank/${zvol}@one/`, 204),
  remove(`storage/volume/tank/zvols/${zvol}/`, 204),
];

const programs: readonly Program[] = [
  {
    name: 'CSI driver, NFS and SMB',
    key: provisioner,
    requests: [
      get('system/version/', 200),
      get('storage/dataset/tank/k8s/', 200),
      post('storage/dataset/tank/k8s/', 201, { name: 'pvc-1' }),
      put('storage/dataset/tank/k8s/pvc-1/', 200, { refquota: '64M', comments: 'claim 1' }),
      put('storage/permission/', /lacks the permission for "update" of "storage\/permission"/, {
        ...{ mp_path: '/mnt/tank/k8s/pvc-1', mp_acl: 'unix', mp_mode: '0777', mp_user: 'root', mp_group: 'wheel' },
      }),
      post('sharing/nfs/', 201, { nfs_paths: ['/mnt/tank/k8s/pvc-1'], nfs_maproot_user: 'root' }, 'nfs'),
      post('sharing/cifs/', 201, { cifs_path: '/mnt/tank/k8s/pvc-1', cifs_name: 'pvc-1' }, 'cifs'),
      get('sharing/nfs/?limit=0', 200),
      post('storage/snapshot/', 201, { dataset: 'tank/k8s/pvc-1', name: 'snap' }),
      post('storage/snapshot/tank/k8s/pvc-1@snap/clone/', 202, { name: 'tank/k8s/pvc-2' }),
      remove('storage/dataset/tank/k8s/pvc-2/', 204),
      remove('storage/snapshot/tank/k8s/pvc-1@snap/', 204),
      remove('sharing/cifs/{cifs}/', 204),
      remove('sharing/nfs/{nfs}/', 204),
      remove('storage/dataset/tank/k8s/pvc-1/', 204),
      // It only asks, and goes on by the version.
      put('services/services/nfs/', /lacks the permission for "update" of "services\/services/, { srv_enable: true }),
    ],
  },
  { name: 'CSI driver, iSCSI', key: provisioner, requests: disk('k8s/pvc-3') },
  {
    name: 'Proxmox',
    key: provisioner,
    requests: [
      ...disk('k8s/vm-100-disk-0'),
      post('storage/snapshot/tank/k8s/base@one/rollback/', /lacks the permission for "rollback"/, {}),
    ],
  },
  {
    name: 'Cinder',
    key: provisioner,
    requests: [
      ...disk('k8s/volume-1'),
      get('storage/volume/tank/', 200),
      // It makes its initiators and portal, if they are not there.
      post('services/iscsi/authorizedinitiator/', /lacks the permission for "create" of "services\/iscsi\/auth/, {
        iscsi_target_initiator_initiators: 'ALL',
      }),
      post('services/iscsi/portal/', /lacks the permission for "create" of "services\/iscsi\/portal"/, {
        iscsi_target_portal_ips: ['0.0.0.0:3270'],
      }),
      put('services/services/iscsitarget/', /lacks the permission for "update"/, { srv_enable: true }),
    ],
  },
  {
    name: 'Terraform',
    key: { role: 'operator' },
    requests: [
      post('storage/volume/tank/datasets/', 201, { name: 'projects' }),
      put('storage/volume/tank/datasets/projects/', 201, { quota: '1G' }),
      get('storage/volume/tank/datasets/projects/', 200),
      post('sharing/nfs/', 201, { nfs_paths: ['/mnt/tank/projects'], nfs_hosts: '192.0.2.10' }, 'nfs'),
      put('sharing/nfs/{nfs}/', 200, { nfs_comment: 'projects' }),
      get('sharing/nfs/{nfs}/', 200),
      post('tasks/cronjob/', /may not set the field cron_user/, { cron_user: 'root', cron_command: 'true' }),
      post('account/groups/', /lacks the permission for "create" of "account\/groups"/, { bsdgrp_group: 'projects' }),
      // Destroying is a change of the plan that a person confirms: with the password of that person.
      remove('sharing/nfs/{nfs}/', /lacks the permission for "remove"/),
      remove('storage/volume/tank/datasets/projects/', /lacks the permission for "remove"/),
    ],
  },
  {
    name: 'Ansible',
    key: { role: 'operator' },
    requests: [
      get('services/services/', 200),
      put('services/services/nfs/', 200, { srv_enable: true }),
      put('services/nfs/', 200, { nfs_srv_servers: 4 }),
      get('sharing/cifs/?limit=0', 200),
      post('sharing/cifs/', 201, { cifs_path: '/mnt/tank/team', cifs_name: 'team' }, 'cifs'),
      put('sharing/cifs/{cifs}/', 200, { cifs_comment: 'changed' }),
      put('sharing/cifs/{cifs}/', /may not set the field cifs_auxsmbconf/, { cifs_auxsmbconf: 'root preexec = id' }),
      post('storage/task/', 201, {
        ...{ task_filesystem: 'tank', task_recursive: true, task_ret_count: 2, task_ret_unit: 'week' },
        ...{ task_interval: 60, task_begin: '09:00:00', task_end: '18:00:00', task_byweekday: '1,2,3,4,5' },
      }),
      put('system/settings/', /lacks the permission for "update" of "system\/settings"/, { stg_timezone: 'UTC' }),
      put('network/globalconfiguration/', /lacks the permission for "update" of "network/, { gc_hostname: 'nas' }),
    ],
  },
  {
    name: 'backup script',
    key: {
      permissions: [
        { resources: ['storage/snapshot'], verbs: ['read', 'create', 'remove'] },
        { resources: ['storage/volume', 'storage/volume/*/datasets'], verbs: ['read'] },
      ],
    },
    requests: [
      get('storage/volume/tank/datasets/?limit=0', 200),
      post('storage/snapshot/', 201, { dataset: 'tank/k8s', name: 'nightly' }),
      get('storage/snapshot/?limit=90000000001', 200),
      remove('storage/snapshot/tank%2Fk8s@nightly/', 204),
      post('storage/snapshot/tank/k8s@nightly/rollback/', /lacks the permission for "rollback"/, {}),
      remove('storage/dataset/tank/k8s/', /lacks the permission for "remove" of "storage\/dataset/),
    ],
  },
  {
    name: 'monitoring script',
    key: { role: 'metrics' },
    requests: [
      get('system/version/', 200),
      get('system/alert/', 200),
      get('storage/volume/', 200),
      get('storage/volume/tank/status/', 200),
      get('storage/disk/', 200),
      get('services/services/', 200),
      get('/api/holdfast/v1/jobs', 200),
      get('storage/snapshot/', /lacks the permission for "read" of "storage\/snapshot"/),
      get('account/users/', /lacks the permission for "read" of "account\/users"/),
      put('system/alert/1/dismiss/', /lacks the permission for "dismiss"/),
    ],
  },
  {
    name: 'inventory',
    key: { role: 'read-only' },
    requests: [
      get('account/users/?limit=0', 200),
      get('network/interface/', 200),
      get('sharing/cifs/', 200),
      get('tasks/cronjob/', 200),
      get('/api/holdfast/v1/problems', 200),
      get('/api/holdfast/v1/keys', /lacks the permission for "read" of "holdfast\/keys"/),
      post('storage/snapshot/', /lacks the permission for "create"/, { dataset: 'tank', name: 'no' }),
    ],
  },
];

/** Replaces `{name}` in texts by ids. */
function filled<T>(value: T, ids: ReadonlyMap<string, unknown>): unknown {
  if (typeof value !== 'string')
    return isObject(value)
      ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, filled(inner, ids)]))
      : value;
  return value.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(ids.get(name) ?? name));
}

/** The id of a record, or of the first one of a list. */
function idIn({ json }: ApiAnswer): unknown {
  const record: unknown = Array.isArray(json) ? json[0] : json;
  return isObject(record) ? record['id'] : undefined;
}

async function replay(api: Api, { requests }: Program): Promise<void> {
  const ids = new Map<string, unknown>();
  for (const { method, path, body, name, expect } of requests) {
    const answer = await api.send(method, String(filled(path, ids)), body && filled(body, ids));
    const what = `${method} ${path}: ${answer.status} ${answer.text.slice(0, 300)}`;
    if (typeof expect === 'number') assert.equal(answer.status, expect, what);
    else {
      assert.equal(answer.status, 403, what);
      assert.match(String(isObject(answer.json) ? (answer.json['error'] ?? answer.json['detail']) : ''), expect, what);
    }
    if (name !== undefined) ids.set(name, idIn(answer));
  }
}

/** An appliance as these programs expect it: with a volume, a dataset for each, and a portal. */
async function prepared(): Promise<Appliance> {
  const nas = await appliance({ profile: 'clients' });
  await nas.api.expect(201, 'POST', 'storage/volume/', {
    ...{ volume_name: 'tank', layout: [{ vdevtype: 'mirror', disks: ['ada0', 'ada1'] }] },
  });
  for (const name of ['k8s', 'team']) await nas.api.expect(201, 'POST', 'storage/volume/tank/datasets/', { name });
  await nas.api.expect(201, 'POST', 'services/iscsi/portal/', { iscsi_target_portal_ips: ['0.0.0.0:3260'] });
  return nas;
}

for (const program of programs)
  test(`${program.name}: its key does what the program asks, but for the requests that are listed`, async () => {
    await using nas = await prepared();
    await replay((await withKey(nas, { name: 'program', ...program.key })).api, program);
    // What the key is answered is what root is answered.
    await using other = await prepared();
    await replay(other.api, {
      ...program,
      requests: program.requests.filter(({ expect }) => typeof expect === 'number'),
    });
  });

test('docs/keys.md has each program, and names what its key is refused', async () => {
  const page = await readFile(new URL('../../docs/keys.md', import.meta.url), 'utf8');
  for (const { name, requests } of programs) {
    const row = page.split('\n').find((line) => line.startsWith(`| ${name} `));
    assert.ok(row !== undefined, name);
    for (const { path, expect } of requests) {
      if (typeof expect === 'number') continue;
      const [resource = ''] =
        /^[a-z]+\/[a-z_]+(?:\/[a-z]{3,})?/.exec(path.replace('/api/holdfast/v1/', 'holdfast/')) ?? [];
      const named = [resource, resource.split('/').slice(0, 2).join('/')].some((one) => row.includes(`\`${one}`));
      assert.ok(named, `${name}: ${path}`);
    }
  }
});
