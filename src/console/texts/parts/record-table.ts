import { type Piece, say } from '../say.ts';

export const thereIsNoYet = (title: Piece) => say`There is no ${title} yet.`;
