import { type Piece, say } from '../say.ts';

export const snapshots = 'Snapshots';
export const whatChangedSince = (name: Piece) => say`What changed since ${name}`;
export const moreThan = 'more than ';
export const difference = 'difference';
export const until = 'until';
export const now = 'now';
export const allFilesOf = (name: Piece) => say`All files of ${name}`;
export const theDifferences = 'the differences';
export const nothingHasChanged = 'Nothing has changed.';
export const differences = 'Differences';
export const change = 'Change';
export const path = 'Path';
export const kind = 'Kind';
export const restore = 'Restore';
export const itsOwnFolder = 'its own folder';
export const restoreOfPath = (path: string | number) => `Restore ${path}`;
export const restoreDots = 'Restore…';
export const areNotShownCompareWithAn = (part: Piece) =>
  say`${part} are not shown. Compare with an earlier snapshot to see fewer.`;
export const furtherDifference = 'further difference';

/** What happened to a file. */
export const isNew = 'new';
export const isGone = 'gone';
export const isChanged = 'changed';
export const isRenamed = 'renamed';
