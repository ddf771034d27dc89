import { type Piece, say } from '../say.ts';

export const snapshots = 'Snapshots';
export const filesOf = (name: Piece) => say`Files of ${name}`;
export const ofIt = (dataset: Piece) => say`of ${dataset}`;
export const compareDots = 'Compare…';
export const restoreThisFolder = 'Restore this folder…';
export const theWayToIt = 'The way to it';
export const theFiles = 'the files';
export const thereIsNothingInThisFolder = 'There is nothing in this folder, or only what begins with a dot.';
export const files = 'Files';
export const name = 'Name';
export const kind = 'Kind';
export const size = 'Size';
export const changed = 'Changed';
export const owner = 'Owner';
export const restore = 'Restore';
export const restoreOfOwn = (own: string | number) => `Restore ${own}`;
export const restoreDots = 'Restore…';
