import { virtual } from '../../support/hosts.ts';
import { describeAccounts } from './accounts.ts';
import { describeCommands } from './commands.ts';
import { describeDisks } from './disks.ts';
import { describeFiles } from './files.ts';
import { describeMachine } from './machine.ts';
import { describeNetwork } from './network.ts';
import { describePackages } from './packages.ts';
import { describePlugins } from './plugins.ts';
import { describeServices } from './services.ts';
import { describeTargets } from './targets.ts';
import { describeWeb } from './web.ts';
import { describeZfs } from './zfs.ts';

const hosts = [virtual];

describeAccounts(hosts);
describeCommands(hosts);
describeDisks(hosts);
describeFiles(hosts);
describeMachine(hosts);
describeNetwork(hosts);
describePackages(hosts);
describePlugins(hosts);
describeServices(hosts);
describeTargets(hosts);
describeWeb(hosts);
describeZfs(hosts);
