import { type Piece, say } from '../say.ts';

export const whatIsThereNow = 'what is there now';
export const filesOf = (name: Piece) => say`Files of ${name}`;
export const restore = (nameOf: Piece) => say`Restore ${nameOf}`;
export const ofAsItWasAt = (dataset: Piece, name: Piece) => say`of ${dataset}, as it was at ${name}`;
export const restoreBesideIt = 'Restore beside it';
export const replaceWhatIsThere = 'Replace what is there';
export const restoreIt = 'Restore';
export const restored = (part: string | number) => `Restored: ${part}`;
export const cancel = 'Cancel';
export const where = 'Where';
export const whereItWas = 'Where it was';
export const whatIsThereNowIsReplaced = 'What is there now is replaced. A new snapshot keeps it, so nothing is lost.';
export const nothingHasThisPathNow = 'Nothing has this path now.';
export const underAnotherName = 'Under another name';
export const whatIsThereNowStaysAs = 'What is there now stays as it is.';
export const pathIn = (dataset: Piece) => say`Path in ${dataset}`;
export const ownerPermissionsAndTimesComeBack =
  'Owner, permissions and times come back too; of a folder, everything in it.';
