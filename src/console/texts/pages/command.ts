import { type Piece, say } from '../say.ts';

export const theCommand = 'the command';
export const thereIsNoCommandForThis = (get: Piece) => say`There is no command ${get} for this.`;
export const whatGoesWithItHasChanged = 'What goes with it has changed. Nothing was removed: look again.';
export const destroys = 'destroys';
export const whatItTakes = 'What it takes';
export const itTakesNothingElse = 'There is nothing to fill in.';
export const ifAnythingInTheListChanges =
  'If anything in the list changes before you press the button, nothing is removed and you are asked again.';
export const preview = 'Preview';
export const cancel = 'Cancel';
export const valuesOnePerLine = 'Values, one per line';
export const removedWithCascade = 'removed with cascade';
export const leftWithoutItsPlace = 'left without its place';
export const whatLiesOnIt = 'what lies on it';
export const whatGoesWithIt = 'What goes with it';
export const usedBy = (usedBy: Piece) => say` used by ${usedBy}`;
export const allDataAndSnapshotsOfIt = (part: Piece) => say`All data and snapshots of it${part}`;
export const noRecordNamesIt = '; no record names it';
export const gone = 'gone';
export const somethingOnItNothingHereCan = (occupants: Piece) =>
  say`${occupants} something on it. Nothing here can bring the data back.`;
export const recordNames = 'record names';
export const recordsName = 'records name';
export const interrupts = 'interrupts';
export const whoIsCutOff = 'Who is cut off';
export const nobodyIsKnown = 'Nobody is known to use a share or a disk now. The machine does not know of all of them.';
export const whoUsesWhat = 'who uses what';
export const theMachineIsAwayForMinutes =
  'The machine is away for some minutes. Shares and disks come back by themselves.';
