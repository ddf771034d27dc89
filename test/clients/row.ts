import assert from 'node:assert/strict';
import type { Profile } from '../../src/engine/declare/resource.ts';
import type { Api, ApiAnswer } from '../support/api.ts';
import type { Appliance } from '../support/appliance.ts';

/** An appliance with a volume called tank, and the profile it works in. */
export interface Nas {
  readonly box: Appliance;
  readonly api: Api;
  readonly profile: Profile;
}

/** Something that programs rely on: a row of the table of them, by its id. */
export interface Row {
  readonly id: string;
  readonly description: string;
  readonly holds: (nas: Nas) => Promise<void>;
}

export function row(id: string, description: string, holds: Row['holds']): Row {
  return Object.freeze({ id, description, holds });
}

export type Record_ = Readonly<Record<string, unknown>>;

/** Makes a record and answers it. */
export function make({ api }: Nas, path: string, body: Record_, status = 201): Promise<Record_> {
  return api.expect(status, 'POST', `${path}/`, body);
}

export const zvolsPath = 'storage/volume/tank/zvols';
export const datasetsPath = 'storage/volume/tank/datasets';

export function makeZvol(nas: Nas, name: string): Promise<Record_> {
  return make(nas, zvolsPath, { name, volsize: '1M', sparse: true }, 202);
}

export function makeExtent(nas: Nas, name: string): Promise<Record_> {
  const body = {
    iscsi_target_extent_name: name,
    iscsi_target_extent_type: 'File',
    iscsi_target_extent_path: `/mnt/tank/extents/${name}`,
    iscsi_target_extent_filesize: '64KB',
  };
  return make(nas, 'services/iscsi/extent', body);
}

export const makeTarget = (nas: Nas, iscsi_target_name: string) =>
  make(nas, 'services/iscsi/target', { iscsi_target_name });
export const makePortal = (nas: Nas, port: number) =>
  make(nas, 'services/iscsi/portal', { iscsi_target_portal_ips: [`0.0.0.0:${port}`] });
export const makeJob = (nas: Nas, more: Record_ = {}) =>
  make(nas, 'tasks/cronjob', { cron_user: 'root', cron_command: 'true', ...more });

export function answers({ status, text }: ApiAnswer, wanted: number, words?: RegExp): void {
  assert.equal(status, wanted, text);
  if (words !== undefined) assert.match(text, words);
}
