import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Host } from '../../src/host/ports/index.ts';
import { openVirtualHost, type Shelf, type VirtualHost } from '../../src/host/virtual/index.ts';
import { VirtualServices } from '../../src/host/virtual/services.ts';
import { programs } from '../../src/subsystems/index.ts';

const GiB = 1024 ** 3;

/**
 * A host that the contract suites run over. `start` returns a machine that the test may change and need not clean up.
 */
export interface HostUnderTest {
  readonly title: string;
  /** A domain that it reaches. */
  readonly domain?: DomainUnderTest;
  start(t: TestContext): Promise<Host>;
  /** Two machines that reach the same disks. */
  startPair?(t: TestContext): Promise<PairUnderTest>;
  /** Ends the program of a service without Holdfast: as if it had exited by itself, or with an error. */
  endProgram?(service: string, how: 'ended' | 'failed', host: Host): Promise<void>;
}

export interface PairUnderTest {
  readonly hosts: readonly [Host, Host];
  readonly names: readonly [string, string];
  /** Switches one of them off, or only cuts its cable, or mends that. */
  fence(name: string, state: 'offline' | 'unknown' | 'online'): Promise<void>;
}

/** An Active Directory domain of another machine. */
export interface DomainUnderTest {
  readonly name: string;
  readonly workgroup: string;
  readonly controller: string;
  /** The address of the controller, where it is not found by DNS. */
  readonly server: string | undefined;
  readonly administrator: { readonly name: string; readonly password: string };
}

export interface Clock {
  now(): number;
  advance(milliseconds: number): void;
}

/** A clock that stands still until the test moves it. */
export function standingClock(from = Date.UTC(2026, 0, 1)): Clock {
  let at = from;
  return {
    now: () => at,
    advance: (milliseconds) => {
      at += milliseconds;
    },
  };
}

const deedsAfter = new WeakMap<TestContext, (() => unknown)[]>();

/**
 * Runs the callback after the test, the last registered first. (The runner's own `after` keeps the order of
 * registration.)
 */
export function finallyOf(t: TestContext, deed: () => unknown): void {
  const known = deedsAfter.get(t);
  if (known !== undefined) {
    known.push(deed);
    return;
  }
  const deeds = [deed];
  deedsAfter.set(t, deeds);
  t.after(async () => {
    for (const one of deeds.reverse()) await one();
  });
}

/** A folder for the test, removed after it. */
export function scratchFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
  finallyOf(t, () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export const eightDisks: readonly number[] = Array<number>(8).fill(4 * GiB);

export async function virtualHost(
  t: TestContext,
  options: { folder?: string; disks?: readonly number[]; now?: () => number; shelf?: Shelf } = {},
): Promise<VirtualHost> {
  const host = await openVirtualHost({
    programs,
    folder: options.folder ?? scratchFolder(t),
    disks: options.disks ?? eightDisks,
    now: options.now ?? Date.now,
    shelf: options.shelf,
  });
  finallyOf(t, () => host.close());
  return host;
}

export const virtual: HostUnderTest = {
  title: 'virtual',
  domain: {
    name: 'corp.example.com',
    workgroup: 'CORP',
    controller: 'dc1.corp.example.com',
    server: undefined,
    administrator: { name: 'Administrator', password: 'domain secret' },
  },
  start: (t) => virtualHost(t),
  async startPair(t) {
    const folder = scratchFolder(t);
    const machine = (node: string) =>
      virtualHost(t, { folder: join(folder, node), shelf: { folder: join(folder, 'shelf'), node } });
    const hosts = [await machine('alpha'), await machine('beta')] as const;
    return {
      hosts,
      names: ['alpha', 'beta'],
      fence: async (name, state) => hosts[0].lease.see(name, state === 'online' ? undefined : state),
    };
  },
  async endProgram(service, how, host) {
    assert.ok(host.services instanceof VirtualServices);
    host.services.end(service, how);
  },
};
