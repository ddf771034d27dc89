import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type Host, HostError } from '../../../src/host/ports/index.ts';
import type { DiskGroup } from '../../../src/host/ports/zfs.ts';
import { finallyOf } from '../../support/hosts.ts';

let count = 0;

/** A name that is not used on the machine. */
export function freshName(start: string): string {
  count += 1;
  return `${start}${process.pid % 10000}x${count}`;
}

/** Passes when the promise rejects with a HostError whose message matches. */
export async function refused(promise: Promise<unknown>, argv: RegExp): Promise<void> {
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof HostError, `not a HostError: ${String(error)}`);
    assert.match(error.message, argv);
    return true;
  });
}

/** Names of unused disks, all of the smallest available size. */
export async function freeDisks(host: Host, wanted: number): Promise<readonly string[]> {
  const free = (await host.disks.list()).filter((disk) => disk.usedBy === undefined);
  assert.ok(free.length >= wanted, `the machine has ${free.length} free disks, the test needs ${wanted}`);
  return free.slice(0, wanted).map((disk) => disk.name);
}

/** A pool that is destroyed after the test. Without `groups` it is one disk. */
export async function poolOn(host: Host, t: TestContext, groups?: readonly DiskGroup[]): Promise<string> {
  const name = freshName('hold');
  await host.zfs.createPool({
    name,
    mountpoint: `/mnt/${name}`,
    groups: groups ?? [{ kind: 'stripe', disks: await freeDisks(host, 1) }],
  });
  finallyOf(t, async () => {
    if ((await host.zfs.pools()).some((pool) => pool.name === name)) await host.zfs.destroyPool(name);
  });
  return name;
}
