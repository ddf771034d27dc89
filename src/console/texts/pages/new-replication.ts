import { type Piece, say } from '../say.ts';

export const theForm = 'the form';
export const replicationTasks = 'Replication tasks';
export const replicateToAnotherMachine = 'Replicate to another machine';
export const everyNewSnapshotOfADataset = 'Every new snapshot of a dataset is copied, each time only what has changed.';
export const replicate = 'Replicate';
export const replicationOfIsSetUp = (filesystem: string | number) => `Replication of ${filesystem} is set up`;
export const cancel = 'Cancel';
export const howTheMachinesTrustEachOther = 'How the machines trust each other';
export const byAToken = 'By a token';
export const theOtherHoldfastGivesOneAnd = 'The other Holdfast gives one, and the keys are exchanged now.';
export const byHand = 'By hand';
export const youGiveTheKeyOfThis = 'You give the key of this machine to the other one.';
export const onTheOtherMachineAToken = (code: Piece) =>
  say`On the other machine: ${code}. A token is valid once, for some minutes.`;
export const commandForAToken = 'holdfast api POST /api/holdfast/v1/tokens';
export const thePublicKeyOfThisMachine = 'The public key of this machine, for the account of the other one:';
export const onlyDatasetsWithAHaveSomething = (link: Piece) =>
  say`Only datasets with a ${link} have something to copy.`;
export const scheduleOfSnapshots = 'schedule of snapshots';
