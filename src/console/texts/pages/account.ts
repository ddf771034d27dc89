import { type Piece, say } from '../say.ts';

export const mayDoEverything = 'may do everything';
export const hasLimitedRights = 'has limited rights';
export const password = 'Password';
export const thePasswordIsThatOfThe =
  'The password is that of the account. A new one ends the sessions that the old one began, this one too.';
export const changeThePassword = 'Change the password…';
export const signOut = 'Sign out';
export const theSecondFactorWasRemoved = 'The second factor was removed.';
export const secondFactor = 'Second factor';
export const keepTheseRecoveryCodesEachIs =
  'Keep these recovery codes. Each is accepted once instead of a code, and they are shown only now.';
export const loginsWithThePasswordNeedNo = 'Logins with the password need no code yet.';
export const setUpDots = 'Set up…';
export const readThisWithAnAuthenticatorProgram = (code: Piece) =>
  say`Read this with an authenticator program, or type the secret: ${code}`;
export const qrCodeOfTheSecret = 'QR code of the secret';
export const codeOfTheProgram = 'Code of the program';
export const removeTheSecondFactor = 'Remove the second factor';
export const confirm = 'Confirm';
export const sessions = 'Sessions';
export const theSessions = 'the sessions';
export const endTheSessionFrom = (address: string | number, created: string | number) =>
  `End the session from ${address}, ${created}`;
export const end = 'End';
