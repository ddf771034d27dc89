import assert from 'node:assert/strict';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { withRequire } from '../../../scripts/bundle.ts';
import type { DomainUnderTest } from '../hosts.ts';
import { Machine } from './machine.ts';

const project = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * The files that the test machine needs to run the contract: the tests as one file, the helper beside it, and a Node.
 */
async function packed(folder: string): Promise<string> {
  await build({
    entryPoints: {
      contract: join(project, 'test/host/contract/linux.ts'),
      helper: join(project, 'src/host/linux/helper.ts'),
    },
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node22',
    banner: { js: withRequire },
    logLevel: 'warning',
  });
  await cp(process.execPath, join(folder, 'node'), { dereference: true });
  return folder;
}

/**
 * Runs a program in the machine and returns its output with its status as the last line. If the machine stops
 * answering, returns the output so far.
 */
async function followed(machine: Machine, program: string): Promise<string> {
  await machine.run(`(${program}; echo "# status $?") >/run/output 2>&1 </dev/null &`);
  let output = '';
  for (const end = Date.now() + 2_400_000; Date.now() < end && !/^# status \d+$/m.test(output); ) {
    await wait(1000);
    output = await machine.tryRun('cat /run/output', { seconds: 20 }).then(
      (answer) => answer.output,
      () => output,
    );
  }
  return output;
}

const domain: DomainUnderTest = {
  name: 'corp.example.com',
  workgroup: 'CORP',
  controller: 'dc.corp.example.com',
  server: 'dc.corp.example.com',
  administrator: { name: 'Administrator', password: 'Other 54321' },
};

/** A machine that is the controller of the domain, and its DNS server. */
async function startController(): Promise<Machine> {
  const machine = await Machine.start({ name: 'dc', disks: 0, memory: 1280 });
  await machine.run(
    `systemctl stop smbd nmbd winbind systemd-resolved
    samba-tool domain provision --server-role=dc --realm=${domain.name.toUpperCase()} --domain=${domain.workgroup} \
      --dns-backend=SAMBA_INTERNAL --host-ip=${machine.address} --adminpass='${domain.administrator.password}' \
      --targetdir=/var/lib/samba/far >/dev/null 2>&1
    mkdir -p /run/samba && samba -D -s /var/lib/samba/far/etc/smb.conf`,
    { seconds: 300 },
  );
  return machine;
}

/** Tests that the Linux host fulfils one part of the contract of the ports, in a machine of its own. */
export function contractHolds(part: 'storage' | 'services' | 'system'): void {
  test(`the Linux host keeps the contract of every port: ${part}`, { timeout: 2_600_000 }, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-contract-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const payload = await packed(folder);
    const isSystem = part === 'system';
    await using controller = isSystem ? await startController() : undefined;
    await using machine = await Machine.start({ disks: 8, payload, ...(isSystem ? { lasting: 'zfs' } : {}) });
    if (controller !== undefined)
      await machine.run(
        `systemctl stop systemd-resolved; rm -f /etc/resolv.conf; echo nameserver ${controller.address} >/etc/resolv.conf`,
      );
    const output = await followed(
      machine,
      `HOLDFAST_CONTRACT=${part} HOLDFAST_CONTRACT_DOMAIN='${JSON.stringify(domain)}' /opt/payload/node --test-reporter=tap --enable-source-maps /opt/payload/contract.mjs`,
    );
    const count = (word: string) => Number(new RegExp(`^# ${word} (\\d+)$`, 'm').exec(output)?.[1] ?? -1);
    const failures = output.split('\n').filter((line) => /^\s*not ok /.test(line));
    assert.ok(count('fail') === 0 && /^# status 0$/m.test(output), `${failures.join('\n')}\n\n${output}`);
    assert.ok(count('pass') >= 25, `only ${count('pass')} tests ran`);
    t.diagnostic(`${count('pass')} tests ran in the machine`);
  });
}
