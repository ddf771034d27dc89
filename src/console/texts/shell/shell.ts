import { type Piece, say } from '../say.ts';

export const everythingIsWell = 'Everything is well';
export const thingNeedsYou = 'thing needs you';
export const thingsNeedYou = 'things need you';
export const goToThePage = 'Go to the page';
export const noJobs = 'no jobs';
export const job = 'job';
export const signOut = 'Sign out';
export const areas = 'Areas';
export const holdfast = 'Holdfast';
export const thisPageCouldNotBeLoaded = (button: Piece) =>
  say`This page could not be loaded: the appliance may have been updated. ${button}`;
export const loadTheConsoleAgain = 'Load the console again';
export const opening = 'Opening …';
