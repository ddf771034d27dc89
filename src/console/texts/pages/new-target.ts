import { type Piece, say } from '../say.ts';

export const poolsAndPortals = 'pools and portals';
export const thereIsNoPoolYet = 'There is no pool yet';
export const aDiskForAClientLies = 'A disk for a client lies on a pool. Make one first.';
export const newPool = 'New pool';
export const file = 'File';
export const block = 'Block';
export const aDiskForAClient = 'A disk for a client';
export const draftNothingHasHappenedYet = 'Draft · nothing has happened yet';
export const makeTheDisk = 'Make the disk';
export const madeTheDisk = (name: string | number) => `Made: the disk ${name}`;
export const cancel = 'Cancel';
export const name = 'Name';
export const theClientSeesItAsThe = 'The client sees it as the end of the name of the target.';
export const pool = 'Pool';
export const theDiskIsTheFileIt = (file: Piece) =>
  say`The disk is the file ${file}. It takes space as the client writes.`;
export const size = 'Size';
export const suchAs100GItCanGrow = 'Such as 100G. It can grow later, but not shrink.';
export const clientsThatMayUseIt = 'Clients that may use it';
export const namesOfInitiatorsWithBlanksBetween =
  'Names of initiators with blanks between them. Empty for every client that reaches this machine: two that use one disk at once destroy its file system.';
export const aPortalIsMadeTooISCSI = 'A portal is made too: iSCSI is reached at port 3260 of every address.';
export const itIsReachedByThePortal = 'It is reached by the portal that is there.';
