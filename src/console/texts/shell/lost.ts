import { type Piece, say } from '../say.ts';

export const itWasLastHeardOfAnd = (heardAt: string | number) =>
  `It was last heard of ${heardAt}, and is asked again every few seconds.`;
export const theApplianceHasLeftThisAddress = 'The appliance has left this address';
export const openItAtItsNewOne =
  'Open it at its new one and press Keep there. Otherwise it comes back to this one by itself.';
export const open = (movedTo: Piece) => say`Open ${movedTo}`;
export const theCertificateOfTheApplianceWas = 'The certificate of the appliance was changed';
export const theApplianceDoesNotAnswer = 'The appliance does not answer';
export const theBrowserAcceptsTheNewOne =
  'The browser accepts the new one only when the console is loaded again, and may ask you about it then.';
export const ifItsCertificateOrItsAddress = (last: string | number) =>
  `${last} If its certificate or its address has changed, load the console again.`;
export const loadAgain = 'Load again';
export const someOfThisPageIsOld = (age: string | number) => `Some of this page was read ${age} and not again`;
export const readItAgain = 'Read it again';
