import { type Piece, say } from '../say.ts';

export const aDiskForAClient = 'A disk for a client';
export const replicateToAnotherMachine = 'Replicate to another machine';
export const joinADomain = 'Join a domain';
export const newCertificate = 'New certificate';
export const nothingIsHere = 'Nothing is here';
export const theFirstHour = 'The first hour';
export const whatThereIs = 'what there is';
export const moveFromAnOldAppliance = 'Move from an old appliance';
export const newIt = (title: Piece) => say`New ${title}`;
export const whatRunsNext = 'What runs next';
export const theSchedules = 'the schedules';
export const nothingHasAScheduleYet =
  'Nothing has a schedule yet. A schedule of snapshots keeps files as they were; a copy on another machine outlives this one.';
export const task = 'Task';
export const nextRun = 'Next run';
export const inIt = 'In';
export const schedule = 'Schedule';
