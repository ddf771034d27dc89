import { type Piece, say } from '../say.ts';

export const fromAPublicAuthority = 'From a public authority';
export const suchAsLetsEncryptItIs = 'Such as Let’s Encrypt. It is renewed by itself.';
export const fromAnAuthorityOfYourOwn = 'From an authority of your own';
export const makesARequestThatYourAuthority = 'Makes a request that your authority signs.';
export const oneThatIsThere = 'One that is there';
export const aCertificateAndItsPrivateKey = 'A certificate and its private key, as text.';
export const theForm = 'the form';
export const certificates = 'Certificates';
export const newCertificate = 'New certificate';
export const theConsoleHasOneOfIts = 'The console has one of its own authority already, which browsers ask about.';
export const whereItComesFrom = 'Where it comes from';
export const cancel = 'Cancel';
export const orderIt = 'Order it';
export const theCertificateIsOrdered = 'The certificate is ordered.';
export const nameHere = 'Name here';
export const howItIsCalledInLists = 'How it is called in lists.';
export const namesOfThisMachine = 'Names of this machine';
export const withBlanksBetweenThemTheAuthority =
  'With blanks between them. The authority asks this machine at port 80 of each of them.';
export const mailAddress = 'Mail address';
export const theAuthorityWarnsThereItCan = 'The authority warns there. It can be empty.';
export const iAgreeToTheTermsOf = 'I agree to the terms of Let’s Encrypt';
export const forNamesThatAreNotReached = (link: Piece) =>
  say`For names that are not reached from the internet, prove them by DNS: see docs/security.md. Choose the certificate in ${link} once it is there.`;
export const theSettingsOfTheSystem = 'the settings of the system';
export const makeTheRequest = 'Make the request';
export const yourAuthorityGetsTheRequestAs =
  'Your authority gets the request as text from the new certificate, and signs it.';
export const importIt = 'Import it';
export const theCertificateComesFirstThenThose =
  'The certificate comes first, then those of the authorities above it, as PEM.';
export const madeTheCertificate = (name: string | number) => `Made: the certificate ${name}`;
