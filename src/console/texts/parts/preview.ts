import { type Piece, say } from '../say.ts';

export const whatWillHappen = 'What will happen';
export const asRequest = 'As request';
export const asCommand = 'As command';
export const asFile = 'As file';
export const whatIsAboutToBeSent = 'What is about to be sent';
export const waysToSeeIt = 'Ways to see it';
export const sendItToPOSTApiHoldfast =
  'Send it to POST /api/holdfast/v1/transactions, together with other requests if you like.';
export const previewAsksTheApplianceWhatThis =
  'Preview asks the appliance what this would do: files, services, sessions. Nothing happens by that.';
export const thisIsWhatWasAskedBefore = 'This is what was asked before the last change of the form. Preview again.';
export const onlyTheRecordIsStoredNothing = 'Only the record is stored. Nothing else on the machine changes.';
export const starts = 'Starts';
export const stops = 'Stops';
export const restarts = 'Restarts';
export const reloads = 'Reloads';
export const cannotBeTakenBack = ' cannot be taken back';
export const itsContentIsNotShownHere = 'Its content is not shown here.';
export const noClientIsInterrupted = ' No client is interrupted.';
export const cutsOff = (one: Piece) => say`Cuts off ${one}.`;
