import { type Piece, say } from '../say.ts';

export const thereIsNoResource = (path: string | number) => `There is no resource ${path}.`;
export const theList = 'the list';
export const newIt = (title: Piece) => say`New ${title}`;
