import { type Piece, say } from '../say.ts';

export const whatIsNewer = 'what is newer';
export const isWhatItWasAt = (dataset: string | number, name: string | number) =>
  `${dataset} is what it was at ${name}.`;
export const hasTheFilesOf = (target: string | number, id: string | number) => `${target} has the files of ${id}.`;
export const snapshots = 'Snapshots';
export const restoreFrom = (name: Piece) => say`Restore from ${name}`;
export const ofIt = (dataset: Piece) => say`of ${dataset}`;
export const howToRestore = 'How to restore';
export const besideIt = 'Beside it';
export const aNewDatasetHasTheFiles = 'A new dataset has the files of the snapshot. Nothing is lost.';
export const inItsPlace = 'In its place';
export const goesBackWhatWasWrittenSince = (dataset: Piece) =>
  say`${dataset} goes back. What was written since then is lost.`;
export const nameOfTheNewDataset = 'Name of the new dataset';
export const itTakesNoSpaceAtFirst = (link: Piece) =>
  say`It takes no space at first. To get single files back, ${link}.`;
export const chooseThemInTheSnapshot = 'choose them in the snapshot';
export const rollBack = (dataset: string | number) => `Roll ${dataset} back`;
export const makeTheDataset = 'Make the dataset';
export const preview = 'Preview';
export const cancel = 'Cancel';
export const whatIsLost = 'What is lost';
export const everythingWrittenToSince = (dataset: Piece, name: Piece) =>
  say`Everything written to ${dataset} since ${name}`;
export const gone = 'gone';
export const snapshot = (one: Piece) => say`Snapshot ${one}`;
export const allNewerThan = (part: Piece, name: Piece) => say`${part}, all newer than ${name}`;
export const furtherSnapshot = 'further snapshot';
export const stays = 'stays';
export const datasetsBelowAndOlderSnapshots = (dataset: Piece) => say`Datasets below ${dataset}, and older snapshots`;
export const stay = 'stay';
export const inUseByOpenFilesChange = (users: Piece) => say`In use by ${users}: open files change under them.`;
