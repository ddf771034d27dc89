import { type Piece, say } from '../say.ts';

export const connecting = 'Connecting';
export const connected = 'Connected';
export const noConnectionWhatIsShownIs = 'No connection: what is shown is old';
export const heard = (heardAt: string | number) => ` · heard ${heardAt}`;
export const lastChangeBy = (link: Piece, actor: Piece, at: Piece) => say`Last change: ${link} by ${actor}, ${at}`;
export const undo = 'Undo';
export const dismissThisNotice = 'Dismiss this notice';
