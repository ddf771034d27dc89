import { test } from 'node:test';
import { openLinuxHost } from '../../../src/host/linux/index.ts';
import { finallyOf, type HostUnderTest } from '../../support/hosts.ts';
import { describeAccounts } from './accounts.ts';
import { describeCommands } from './commands.ts';
import { describeDisks } from './disks.ts';
import { describeFiles } from './files.ts';
import { describeServices } from './services.ts';
import { describeZfs } from './zfs.ts';

const linux: HostUnderTest = {
  title: 'Linux',
  async start(t) {
    const host = await openLinuxHost();
    finallyOf(t, () => host.close());
    return host;
  },
};

// These make pools and users of whatever machine they run on.
if (process.env['HOLDFAST_IN_MACHINE'] === '1') {
  const hosts = [linux];
  describeAccounts(hosts);
  describeCommands(hosts);
  describeDisks(hosts);
  describeFiles(hosts);
  describeServices(hosts);
  describeZfs(hosts);
} else {
  test('the Linux host keeps the contract', { skip: 'runs in the test machine: lab/test test/lab/contract.test.ts' }, () => {});
}
