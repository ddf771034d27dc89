import { type Piece, say } from '../say.ts';

export const done = (method: string | number, path: string | number) => `Done: ${method} ${path}`;
export const since = (rest: Piece, since: Piece) => say`${rest} Since ${since}.`;
export const show = 'Show';
export const working = 'Working …';
export const mend = 'Mend';
