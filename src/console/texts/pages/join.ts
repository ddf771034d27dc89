import { type Piece, say } from '../say.ts';

export const theDomain = 'the domain';
export const accountsAndDirectory = 'Accounts and directory';
export const joinADomain = 'Join a domain';
export const activeDirectoryItsAccountsAndGroups =
  'Active Directory: its accounts and groups can use the shares of this machine.';
export const ldapInstead = 'LDAP instead';
export const thisMachineBelongsTo = (domainname: string | number) => `This machine belongs to ${domainname}`;
export const itIsKnownThereAsTo = (netbiosnameA: Piece) =>
  say`It is known there as ${netbiosnameA}. To leave the domain, switch Active Directory off in its settings.`;
export const settings = 'Settings';
export const back = 'Back';
export const join = 'Join';
export const joined = (value: string | number) => `Joined: ${value}`;
export const cancel = 'Cancel';
export const theAccountOfAnAdministratorOf =
  'The account of an administrator of the domain is used once, to make an account for this machine. The name servers of this machine have to be those of the domain, and the clocks may differ by five minutes at most.';
export const nameServers = 'Name servers';
export const allSettingsOfActiveDirectory = 'All settings of Active Directory';
