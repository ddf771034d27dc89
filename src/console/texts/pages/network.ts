import { type Piece, say } from '../say.ts';

export const noCable = 'no cable';
export const network = 'Network';
export const newInterface = 'New interface';
export const interfaces = 'Interfaces';
export const thoseThatHoldfastConfigures = 'those that Holdfast configures';
export const theInterfaces = 'the interfaces';
export const holdfastConfiguresNoInterfaceYetThe =
  'Holdfast configures no interface yet: the machine keeps the addresses that it has.';
export const interfaceIt = 'Interface';
export const link = 'Link';
export const addresses = 'Addresses';
export const givenBy = 'Given by';
export const change = 'Change';
export const notKnown = 'not known';
export const dhcp = 'DHCP';
export const thisRecord = 'this record';
export const changeAddressDots = (part: Piece) => say`Change address…${part}`;
export const ofIt = (intInterface: Piece) => say` of ${intInterface}`;
