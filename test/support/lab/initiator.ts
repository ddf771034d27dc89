import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { lastingClient, runClient, type Session } from './network.ts';

/** The prefix of short names. */
export const base = 'iqn.2005-10.org.freenas.ctl';

export interface Who {
  readonly initiator?: string;
  readonly login?: string;
  readonly peer?: string;
  readonly port?: number;
}

/** Seconds after which a session ends unless the test ended it. */
const longestSession = 600;

/** libiscsi's programs, run outside of the machine against an address. */
export function initiatorAt(address: () => string) {
  const as = ({ initiator = 'iqn.1993-08.org.debian:01:c' }: Who) => ['-i', initiator];
  const portal = ({ login, port = 3260 }: Who) =>
    `iscsi://${login === undefined ? '' : `${login}@`}${address()}:${port}`;
  const url = (target: string, lun: number, who: Who) =>
    `${portal(who)}/${target.includes(':') ? target : `${base}:${target}`}/${lun}${who.peer === undefined ? '' : `?${who.peer}`}`;

  /** One test of libiscsi's suite, which may write to the LUN. */
  const tried = async (name: string, target: string, lun: number, who: Who = {}): Promise<string> => {
    const { stdout, stderr } = await runClient([
      'timeout',
      '60',
      'iscsi-test-cu',
      ...as(who),
      '--dataloss',
      `--test=${name}`,
      url(target, lun, who),
    ]);
    return stdout + stderr;
  };

  return {
    async discovered(who: Who = {}): Promise<readonly string[]> {
      const { stdout } = await runClient(['iscsi-ls', ...as(who), portal(who)]);
      return [...stdout.matchAll(/Target:(\S+)/g)].map(([, name = '']) => name).toSorted();
    },

    /** The size of a LUN in bytes as an initiator sees it, or the error. */
    async capacity(target: string, lun: number, who: Who = {}): Promise<number | string> {
      const { status, stdout, stderr } = await runClient(['iscsi-readcapacity16', ...as(who), url(target, lun, who)]);
      const total = /Total size:(\d+)/.exec(stdout)?.[1];
      return status === 0 && total !== undefined ? Number(total) : stderr.trim() || stdout.trim();
    },

    async blockSize(target: string, lun: number): Promise<number> {
      const { stdout } = await runClient(['iscsi-readcapacity16', ...as({}), url(target, lun, {})]);
      return Number(/BYTES:(\d+)/i.exec(stdout)?.[1]);
    },

    /** The inquiry data of a LUN, or one page of it. */
    async inquired(target: string, lun: number, page?: number): Promise<string> {
      const { stdout, stderr } = await runClient([
        'iscsi-inq',
        ...as({}),
        ...(page === undefined ? [] : ['-e', '1', '-c', String(page)]),
        url(target, lun, {}),
      ]);
      return stdout + stderr;
    },

    /** Keeps an initiator connected to a LUN, reading blocks repeatedly, until the session is ended. */
    busy: (target: string, lun: number, who: Who = {}): Session =>
      lastingClient([
        'iscsi-perf',
        ...as(who),
        '-m',
        '1',
        '-b',
        '8',
        '-t',
        String(longestSession),
        url(target, lun, who),
      ]),

    tried,

    /** How many tests of these families of libiscsi's suite pass; each is reported. */
    async passed(
      t: TestContext,
      families: readonly string[],
      target: string,
      lun: number,
      who: Who = {},
    ): Promise<{ passed: number; failed: number }> {
      const count = { passed: 0, failed: 0 };
      for (const family of families) {
        const said = await tried(`SCSI.${family}`, target, lun, who);
        const [, , , passed = '', failed = ''] =
          /tests\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)/.exec(said) ?? assert.fail(`${family}: ${said.slice(-800)}`);
        t.diagnostic(`libiscsi's tests of ${family}: ${passed} passed, ${failed} failed`);
        count.passed += Number(passed);
        count.failed += Number(failed);
      }
      t.diagnostic(`libiscsi's tests: ${count.passed} passed, ${count.failed} failed`);
      return count;
    },
  };
}

/** The families that take at most two minutes. */
export const quickFamilies = [
  'TestUnitReady',
  'ReadCapacity10',
  'ReadCapacity16',
  'Inquiry',
  'Read10',
  'Read16',
  'Write10',
  'Verify10',
];
