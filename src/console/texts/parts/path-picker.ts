import { type Piece, say } from '../say.ts';

export const chooseAFolder = 'Choose a folder';
export const theWayToIt = 'The way to it';
export const foldersIn = (at: string | number) => `Folders in ${at}`;
export const dataset = (dataset: Piece) => say`dataset ${dataset}`;
export const thereIsNoFolderInIt = 'There is no folder in it.';
export const readingTheFolders = 'Reading the folders …';
export const nameOfANewFolder = 'Name of a new folder';
export const newFolder = 'New folder';
export const makeIt = 'Make it';
export const take = (at: Piece) => say`Take ${at}`;
export const cancel = 'Cancel';
