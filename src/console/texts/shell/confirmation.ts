import { type Piece, say } from '../say.ts';

export const kept = (title: string | number) => `Kept: ${title}.`;
export const thisWindowReachesTheApplianceBy =
  'This window reaches the appliance by a way that the change does not touch. Open the console at the changed address, and keep it there.';
export const thisChangeIsTakenBackIn = (seconds: Piece) =>
  say`This change is taken back in ${seconds} s unless you keep it.`;
export const keep = 'Keep';
