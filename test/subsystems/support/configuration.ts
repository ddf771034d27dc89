import { catalogue } from '../../../src/areas/index.ts';
import { serviceSwitch } from '../../../src/areas/services/services.ts';
import { LayeredDraft } from '../../../src/engine/configuration/draft.ts';
import { Tables } from '../../../src/engine/configuration/tables.ts';
import type { View } from '../../../src/engine/declare/resource.ts';
import type { Desired, Subsystem } from '../../../src/engine/declare/subsystem.ts';
import { isKeptResource } from '../../../src/engine/engine.ts';
import type { Facts } from '../../../src/engine/facts/facts.ts';
import { SnapshotIndex } from '../../../src/engine/facts/snapshot-index.ts';
import { type Dataset, emptyFigures, initialFigures, type Pool } from '../../../src/host/ports/zfs.ts';

const pool = (name: string): Pool => ({
  name,
  guid: '1',
  health: 'ONLINE',
  size: 1,
  allocated: 0,
  free: 1,
  figures: initialFigures,
  upgraded: true,
  scan: undefined,
  groups: [],
});

const root = (name: string, mountpoint: string | undefined): Dataset => ({
  name,
  kind: 'filesystem',
  used: 0,
  available: 1,
  referenced: 0,
  figures: emptyFigures,
  mountpoint,
  properties: {},
  inherited: [],
  comment: undefined,
  origin: undefined,
  snapshotStamp: '',
});

/** A machine with the volume tank, the volume locked that is not mounted, and a few accounts. */
export const machine: Facts = Object.freeze<Facts>({
  host: 'virtual',
  accounts: {
    users: ['root', 'nobody', 'mary'].map((name, index) => ({
      name,
      uid: index,
      gid: index,
      fullName: '',
      home: '/',
      shell: '/bin/sh',
    })),
    groups: [{ name: 'media', gid: 7 }],
    shells: ['/bin/sh'],
  },
  bootEnvironments: undefined,
  bootPool: undefined,
  condition: { health: [], memory: { total: 0, available: 0 }, clockOffset: undefined, updates: 0 },
  disks: [],
  membership: undefined,
  network: {
    hostname: 'nas',
    domain: '',
    hosts: '',
    nameServers: [],
    links: [
      {
        name: 'mgmt0',
        kind: '',
        up: true,
        carrier: true,
        mtu: 1500,
        master: undefined,
        addresses: ['192.0.2.7/24', '192.0.2.8/24', '10.0.0.1/8', '2001:db8::7/64', 'fd00::1/64'],
      },
    ],
  },
  plugins: new Map(),
  services: new Map(),
  importable: [],
  jails: new Map(),
  storage: {
    pools: new Map([pool('tank'), pool('locked')].map((one) => [one.name, one])),
    binned: new Map(),
    datasets: new Map([root('tank', '/mnt/tank'), root('locked', undefined)].map((one) => [one.name, one])),
    snapshots: SnapshotIndex.empty,
    missing: new Set(),
  },
  targets: { engine: 'lio', serving: false, firstLun: 0 },
});

const kept = catalogue.filter(isKeptResource);

/** The configuration of a fresh system, to be changed. */
export function freshConfiguration(facts = machine): LayeredDraft {
  const draft = new LayeredDraft(new Tables(kept), facts, new Map());
  for (const one of kept) if (one.kind === 'singleton') draft.plant(one, one.seed(facts));
  for (const first of serviceSwitch.seed(facts)) draft.plant(serviceSwitch, first);
  return draft;
}

export function switchOn(draft: LayeredDraft, service: string): void {
  draft.update(serviceSwitch, draft.find(serviceSwitch, 'srv_service', service)?.id ?? 0, { srv_enable: true });
}

/** What a subsystem reports about what it serves. */
export function messagesOf({ problems }: Subsystem, view: View, facts: Facts = machine): readonly string[] {
  return problems?.(view, facts).map(({ message }) => message) ?? [];
}

export function fileOf(desired: Desired, path: string): string | undefined {
  return desired.files?.find((file) => file.path === path)?.content;
}
