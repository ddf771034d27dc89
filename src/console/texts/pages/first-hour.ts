import { type Piece, say } from '../say.ts';

export const whatIsThere = 'what is there';
export const skip = 'Skip';
export const theFirstHour = 'The first hour';
export const fromAnEmptyMachineToA =
  'From an empty machine to a share. Nothing happens before you press the blue button.';
export const steps = 'Steps';
export const done = ' (done)';
export const stepOf = (part: Piece, stages: Piece, title: Piece) => say`Step ${part} of ${stages}: ${title}`;
export const thePasswordWasSetOrAnother = 'The password was set, or another account than root is signed in.';
export const thereIsAPool = (pools: string | number) => `There is a pool: ${pools}.`;
export const thereIsADataset = (namesIn: string | number) => `There is a dataset: ${namesIn}.`;
export const thereIsAnAccount = (namesIn: string | number) => `There is an account: ${namesIn}.`;
export const thereIsAShare = (shares: string | number) => `There is a share: ${shares}.`;
export const snapshotsAreScheduledOf = (scheduled: string | number) => `Snapshots are scheduled of ${scheduled}.`;
export const thisIsDone = 'This is done';
export const next = 'Next';
export const accounts = 'Accounts';
export const makeAnother = 'Make another';
export const ofThem = (some: string | number) => `${some} of them`;
export const theForm = 'the form';
export const setThePassword = 'Set the password';
export const thePasswordOfRootIsSet = 'The password of root is set.';
export const theFirstPasswordWasPrintedIn =
  'The first password was printed in a log. This one replaces it, and other sessions of root end. It opens this console and the interface; the account root of the machine keeps its own.';
export const theSameAgain = 'The same again';
export const thisDiffersFromThePasswordAbove = 'This differs from the password above.';
export const thereIsNoPoolYet = 'There is no pool yet';
export const thisLiesOnAPoolMake = 'This lies on a pool. Make one first.';
export const makeAPool = 'Make a pool';
export const pool = 'Pool';
export const makeTheDataset = 'Make the dataset';
export const createdDataset = (pool: string | number, name: string | number) => `Created: dataset ${pool}/${name}`;
export const aDatasetIsAFolderOf = (pool: string | number) =>
  `A dataset is a folder of the pool ${pool} with properties of its own: a quota, snapshots, a share.`;
export const makeTheAccount = 'Make the account';
export const createdUser = (name: string | number) => `Created: user ${name}`;
export const withThisNameAndPasswordA =
  'With this name and password a person opens the share. A group with the same name is made for the account.';
export const shareTheFolder = 'Share the folder';
export const shared = (part: string | number) => `Shared: ${part}`;
export const servedBy = 'Served by';
export const smbForWindowsMacOSAndLinux = 'SMB, for Windows, macOS and Linux';
export const nfsForLinuxAndHypervisors = 'NFS, for Linux and hypervisors';
export const whoMayWriteInTheFolder = 'Who may write in the folder';
export const leaveItsOwnerAsItIs = 'leave its owner as it is';
export const theFolderAndEverythingInIt =
  'The folder and everything in it then belong to this account and its group. Others may read.';
export const scheduleTheSnapshots = 'Schedule the snapshots';
export const snapshotsOfAreScheduled = (name: string | number) => `Snapshots of ${name} are scheduled`;
export const aSnapshotKeepsTheFilesAs =
  'A snapshot keeps the files as they are at that moment. It takes only the space of what changes afterwards.';
export const nothingIsSharedYet = 'Nothing is shared yet';
export const shareAFolderAndThisPage = 'Share a folder, and this page has the address for each kind of client.';
export const shareAFolder = 'Share a folder';
export const runs = (protocol: string | number) => `${protocol} runs`;
export const doesNotRun = (protocol: string | number) => `${protocol} does not run`;
export const isOff = (protocol: string | number) => `${protocol} is off`;
export const hasTheSwitchAndWhyIt = (link: Piece) => say`${link} has the switch, and why it does not run.`;
export const services = 'Services';
export const theClientAsksForAName = (account: Piece) =>
  say`The client asks for a name and a password: those of an account here, such as ${account}.`;
export const toTheOverview = 'To the overview';
export const share = 'share';
