import { dryRunsOf } from './dry-run.ts';

dryRunsOf('account');
