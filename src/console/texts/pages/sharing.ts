import { type Piece, say } from '../say.ts';

export const webDAV = 'WebDAV';
export const served = 'served';
export const doesNotRun = (protocol: string | number) => `${protocol} does not run`;
export const isOff = (protocol: string | number) => `${protocol} is off`;
export const sharing = 'Sharing';
export const newShare = (title: Piece) => say`New ${title} share`;
export const shareAFolder = 'Share a folder';
export const shares = 'Shares';
export const theShares = 'the shares';
export const noFolderIsSharedYet = 'No folder is shared yet.';
export const name = 'Name';
export const servedBy = 'Served by';
export const state = 'State';
export const folder = 'Folder';
export const comment = 'Comment';
