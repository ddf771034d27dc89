import { type Piece, say } from '../say.ts';

export const stripe = 'Stripe';
export const mirror = 'Mirror';
export const theDisks = 'the disks';
export const makeThePool = (name: string | number) => `Make the pool ${name}`;
export const createdPool = (name: string | number) => `Created: pool ${name}`;
export const nameOfThePool = 'Name of the pool';
export const disks = 'Disks';
export const noDiskIsFreePutOne = 'No disk is free. Put one in, or export a pool that has some.';
export const notFree = (taken: Piece) => say`Not free: ${taken}`;
export const spares = 'Spares';
export const none = 'none';
export const disk = 'disk';
export const aSpareTakesThePlaceOf = 'A spare takes the place of a disk that fails, by itself.';
export const moreEncryptionDeduplication = (further: Piece) => say`More: encryption, deduplication (${further})`;
export const aPoolWithALogOr = (link: Piece) =>
  say`A pool with a log or a cache, and disks that are added to a pool, have the ${link}.`;
export const formWithGroups = 'form with groups';
export const chooseAtLeastOneDiskThat = 'Choose at least one disk that is not a spare.';
export const layout = 'Layout';
export const usable = 'usable';
export const data = 'data';
export const copiesOrParityAndZFSsReserve = "copies or parity, and ZFS's reserve";
export const notUsableTheDiskIsLarger = 'not usable: the disk is larger than others of its group';
export const theDiskMustNotFail = 'The disk must not fail.';
export const noDiskMayFail = 'No disk may fail.';
export const anyOneDiskMayFail = 'Any one disk may fail';
export const anyDisksMayFail = (bearable: string | number) => `Any ${bearable} disks may fail`;
export const upToIfIn = (
  any: string | number,
  atBest: string | number,
  part: string | number,
  part2: string | number,
  part3: string | number,
) => `${any}; up to ${atBest}, if ${part} in ${part2} ${part3}.`;
export const theyAre = 'they are';
export const noMoreThanAre = (bearable: string | number) => `no more than ${bearable} are`;
export const oneOfThe = 'one of the';
export const oneGroup = 'One group';
export const groups = (groups: string | number) => `${groups} groups`;
export const spare = (spares: Piece) => say`spare: ${spares}`;
export const theDisksDifferInSizeOf = (unused: Piece, part: Piece) =>
  say`The disks differ in size: ${unused} of the larger ones ${part} not used.`;
export const is = 'is';
export const are = 'are';
export const spareNames = (names: string) => `spare: ${names}`;
