export const thisNameAndPasswordAreNot = 'This name and password are not accepted.';
export const thisCodeIsWrongOrWas = 'This code is wrong or was used. Wait for the next one.';
export const holdfast = 'Holdfast';
export const theSessionHasEndedSignIn = 'The session has ended. Sign in again to go on where you were.';
export const signInToTheFirstPassword = (host: string | number) =>
  `Sign in to ${host}. The first password of root was printed when Holdfast started for the first time.`;
export const account = 'Account';
export const password = 'Password';
export const codeOfTheSecondFactor = 'Code of the second factor';
export const sixDigitsOfYourAuthenticatorProgram = 'Six digits of your authenticator program, or a recovery code.';
export const signingIn = 'Signing in …';
export const signIn = 'Sign in';
