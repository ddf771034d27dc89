import { type Piece, say } from '../say.ts';

export const theInterface = 'the interface';
export const network = 'Network';
export const changeTheAddressOf = (intInterface: Piece) => say`Change the address of ${intInterface}`;
export const hasNoneNow = 'has none now';
export const changeTheAddress = 'Change the address';
export const changedTheAddressOf = (intInterface: string | number) => `Changed: the address of ${intInterface}`;
export const cancel = 'Cancel';
export const whereTheAddressComesFrom = 'Where the address comes from';
export const fixed = 'Fixed';
export const itStaysUntilYouChangeIt = 'It stays until you change it.';
export const dhcp = 'DHCP';
export const theNetworkGivesItItMay = 'The network gives it. It may change.';
export const ipv4Address = 'IPv4 address';
export const lengthOfTheNetworkPrefix = 'Length of the network prefix';
export const anExampleOfAPrefix = '24 is the mask 255.255.255.0.';
export const theChangeGoesBackByItself = (patience: Piece) =>
  say`The change goes back by itself after ${patience} s unless you press Keep, which then stands in every window.`;
export const youAreConnectedByThisAddress = (part: string | number) =>
  ` You are connected by this address: open ${part} after it and press Keep there.`;
export const theNewOne = 'the new one';
