import { type Piece, say } from '../say.ts';

export const theFailedDisk = 'The failed disk';
export const pullIt = 'Pull it';
export const theNewDisk = 'The new disk';
export const checkAndReplace = 'Check and replace';
export const filling = 'Filling';
export const thereIsNoSuchPool = 'There is no such pool.';
export const theDisks = 'the disks';
export const replaceADisk = 'Replace a disk';
export const steps = 'Steps';
export const stepOf = (part: Piece, stages: Piece, title: Piece) => say`Step ${part} of ${stages}: ${title}`;
export const whichDiskIsToBeReplaced = 'Which disk is to be replaced?';
export const disksOfThePool = 'Disks of the pool';
export const pullAndPutInTheNew = (name: string | number) => `Pull ${name} and put in the new disk`;
export const whichDiskTakesItsPlace = 'Which disk takes its place?';
export const back = 'Back';
export const next = 'Next';
export const serialNumber = 'Serial number';
export const none = 'none';
export const bay = 'Bay';
export const theMachineDoesNotReportIt = 'the machine does not report it';
export const size = 'Size';
export const theSerialNumberIsPrintedOn = (name: Piece) =>
  say`The serial number is printed on the disk. If there is a free bay, put the new disk there and pull ${name} when the new one is filled: the pool is never without it.`;
export const doesNotAnswerSoItsSerial = (name: Piece, code: Piece) =>
  say`${name} does not answer, so its serial number cannot be read. The pool knows it as ${code}.`;
export const notAnswerEitherTheApplianceCannot = (silent: Piece, part: Piece) =>
  say`${silent} ${part} not answer either. The appliance cannot tell them apart: compare the label above with the disks before you pull one.`;
export const does = 'does';
export const doIt = 'do';
export const pullADiskOnlyIfIts = 'Pull a disk only if its serial number is none of these: they answer.';
export const leaveIn = 'Leave in';
export const thereIsNoFreeDiskPut = 'There is no free disk. Put one in: it appears here by itself.';
export const freeDisks = 'Free disks';
export const tooSmallAreNeeded = (needed: string | number) => `too small: ${needed} are needed`;
export const sizeAndSerialNumber = (size: Piece, serial: Piece) => say`${size}, serial number ${serial}`;
export const unknown = 'unknown';
export const spareOfThisPool = ' · spare of this pool';
export const aDiskThatIsPutIn = 'A disk that is put in appears here by itself.';
export const takesThePlaceOf = (fresh: string | number, old: string | number) => `${fresh} takes the place of ${old}.`;
export const titleOfReplacement = (fresh: string | number, old: string | number) =>
  `${fresh} takes the place of ${old}`;
export const goes = 'Goes';
export const comes = 'Comes';
export const thePoolStaysInUseWhile = (name: Piece) =>
  say`The pool stays in use while the new disk is filled. What was on ${name} is gone then.`;
export const overwriteWhatIsOn = (name: Piece) => say`Overwrite what is on ${name}`;
export const replace = (name: Piece) => say`Replace ${name}`;
export const isStillPartOf = (disk: string | number, pool: string | number) => `${disk} is still part of ${pool}`;
export const lookAtTheStatusOfThe = (part: Piece) => say`${part} Look at the status of the pool.`;
export const theResilverHasEndedWithErrors = 'The resilver has ended with errors.';
export const theNewDiskIsFilledBut = 'The new disk is filled, but the old one has not left.';
export const done = 'Done';
export const hasTakenThePlaceOfIs = (fresh: Piece, old: Piece, pool: Piece, state: Piece) =>
  say`${fresh} has taken the place of ${old}. ${pool} is ${state}.`;
export const theOldDiskCanGoA = 'The old disk can go. A spare that stood in for it is ready again.';
export const withTheSerialNumberCanBe = (name: string | number, part: string | number) =>
  `${name} with the serial number ${part} can be pulled now.`;
export const isBeingReplaced = (name: string | number) => `${name} is being replaced`;
export const theApplianceBegins = 'The appliance begins …';
export const theNewDiskIsFilled = 'The new disk is filled';
export const thisPageCanBeClosedThe =
  'This page can be closed: the pool goes on by itself, and shows there how far it is.';
export const toThePool = 'To the pool';
