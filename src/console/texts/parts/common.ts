import { type Piece, say } from '../say.ts';

export const typeToGoOn = (code: Piece) => say`Type ${code} to go on`;
export const reading = (what: Piece) => say`Reading ${what} …`;
export const free = 'free';
