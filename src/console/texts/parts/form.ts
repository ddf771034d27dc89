import { type Piece, say } from '../say.ts';

export const more = (further: Piece, advanced: Piece) => say`More: ${further} (${advanced})`;
export const askingForTheNextRuns = 'Asking for the next runs …';
export const nextRuns = (zone: Piece) => say`Next runs, ${zone}`;
