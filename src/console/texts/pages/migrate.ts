import { type Piece, say } from '../say.ts';

export const system = 'System';
export const moveFromAnOldAppliance = 'Move from an old appliance';
export const theConfigurationOfFreeNASOrTrueNAS = 'The configuration of FreeNAS or TrueNAS CORE';
export const archiveOfTheExportOrFreenas = 'Archive of the export, or freenas-v1.db';
export const itIsReadInMemoryAnd =
  'It is read in memory, and nothing is changed. Import its pools first, so that paths can be checked.';
export const pwencSecretIfTheArchiveDoes = 'pwenc_secret, if the archive does not have it';
export const withoutTheKeyEachSecretThat = 'Without the key, each secret that is missing is in the list.';
export const readIt = 'Read it';
export const readItAgain = 'Read it again';
export const becomes = (filter: Piece) => say`${filter} becomes`;
export const notCarried = 'not carried';
export const link = (name: string | number, mac: string | number, link: string | number, part: string | number) =>
  `${name} ${mac} (link: ${link})${part}`;
export const probablyThisOne = ' – probably this one';
export const onWhatIsNotCarriedOr = (left: string | number) => `${left} on what is not carried, or needs a look`;
export const remark = 'remark';
export const notRead = (ignored: Piece) => say`Not read: ${ignored}.`;
export const applyTheFile = 'Apply the file';
export const appliedTheConfigurationOf = (version: string | number) => `Applied: the configuration of ${version}`;
export const cancel = 'Cancel';
export const theProposedFileOfVersion = (records: Piece, version: Piece) =>
  say`The proposed file: ${records} of version ${version}`;
export const record = 'record';
export const changeWhatDoesNotSuitYou =
  'Change what does not suit you. Secrets are sealed for this appliance. Preview shows what applying would do; all of it is one change.';
export const whatIsNotCarried = 'What is not carried';
export const where = 'Where';
export const why = 'Why';
export const whatToDo = 'What to do';
