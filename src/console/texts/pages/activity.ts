import { type Piece, say } from '../say.ts';

export const time = 'Time';
export const activity = 'Activity';
export const jobs = 'Jobs';
export const noJobHasRunYet = 'No job has run yet.';
export const job = 'Job';
export const state = 'State';
export const began = 'Began';
export const whatItReported = 'What it reported';
export const changes = 'Changes';
export const nothingHasBeenChangedYet = 'Nothing has been changed yet.';
export const change = 'Change';
export const by = 'By';
export const why = 'Why';
export const auditLog = 'Audit log';
export const noRequestHasChangedAnythingYet = 'No request has changed anything yet.';
export const request = 'Request';
export const answer = 'Answer';
export const from = 'From';
export const isAsConfiguredAgain = (subsystem: string | number) => `${subsystem} is as configured again.`;
export const differencesFromTheConfiguration = 'Differences from the configuration';
export const theDifferences = 'the differences';
export const theMachineIsAsConfiguredSubsystems = (drift: Piece) =>
  say`The machine is as configured: ${drift} subsystems were compared.`;
export const heal = 'Heal';
export const theChange = 'the change';
export const changeBy = (number: Piece, actor: Piece, at: Piece) => say`Change ${number} by ${actor}, ${at}`;
export const undo = 'Undo';
export const itCannotBeTakenBackIt =
  'It cannot be taken back: it belongs to the machine, or was a part of a larger request.';
export const field = 'Field';
export const before = 'Before';
export const after = 'After';
