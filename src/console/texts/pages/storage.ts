import { type Piece, say } from '../say.ts';

export const thePools = 'the pools';
export const storage = 'Storage';
export const snapshots = 'Snapshots';
export const disks = 'Disks';
export const newPool = 'New pool';
export const thereIsNoPoolYet = 'There is no pool yet.';
export const thereIsNoPool = (only: string | number) => `There is no pool ${only}.`;
export const freeOf = (it: Piece, disks: Piece, free: Piece, total: Piece) =>
  say`${it} · ${disks} · ${free} free of ${total}`;
export const disk = 'disk';
export const stopTheScrub = 'Stop the scrub…';
export const scrubDots = 'Scrub…';
export const moreDots = 'More…';
export const aScrubRuns = 'A scrub runs';
export const replace = (name: Piece) => say`Replace ${name}…`;
export const datasets = 'Datasets';
export const newDataset = 'New dataset';
export const disksInNoPool = 'Disks in no pool';
export const bay = (slot: string | number) => `Bay ${slot}`;
export const noSerialNumber = 'no serial number';
