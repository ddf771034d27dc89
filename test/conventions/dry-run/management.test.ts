import { ownDryRuns } from './dry-run.ts';

ownDryRuns();
