import type { Act } from '../../engine/declare/access.ts';
import type { Field } from '../../engine/declare/fields.ts';
import { matches } from '../rights/patterns.ts';

/**
 * What amounts to root on the machine. A permission includes it only with `raw`, even if its patterns match. All other
 * fields are typed: a key that may set them can misconfigure a service, but cannot run a program or read a file as root.
 */
interface Privilege {
  /** Pattern of the resource, as the catalogue has it. */
  readonly resource: string;
  /** Only these verbs and actions; without it, everything that is not a plain read. */
  readonly verbs?: readonly string[];
  readonly why: string;
}

export const privileges: readonly Privilege[] = [
  { resource: 'account/**', why: 'an account can be given the rights of root' },
  { resource: 'directoryservice/**', why: 'a directory can name accounts with the rights of root' },
  { resource: 'jails/**', why: 'jails run programs' },
  { resource: 'plugins/**', why: 'plugins run programs' },
  { resource: 'services/dynamicdns', why: 'the stored password is sent to the server that it names' },
  { resource: 'services/ssh', why: 'SSH lets accounts run programs' },
  { resource: 'services/domaincontroller', why: 'a domain has accounts of its own' },
  { resource: 'storage/permission', why: 'it changes who may access every file of a volume' },
  { resource: 'storage/replication', why: 'it gives other machines access, and writes what they send' },
  {
    resource: 'storage/volume',
    verbs: ['keypassphrase', 'recoverykey', 'rekey'],
    why: 'who has the keys of a volume can read it anywhere',
  },
  { resource: 'system/advanced', why: 'it sets who gets a console of root' },
  { resource: 'system/bootenv', why: 'it sets the system that the machine starts' },
  { resource: 'system/certificate', why: 'who has a private key can pass for the appliance' },
  { resource: 'system/certificateauthority', why: 'who has a private key can pass for the appliance' },
  { resource: 'system/config', why: 'it replaces the whole configuration' },
  { resource: 'system/debug', why: 'the archive has logs of the whole machine' },
  { resource: 'system/email', why: 'the stored password is sent to the server that it names' },
  { resource: 'system/settings', why: 'it sets how the appliance is reached' },
  { resource: 'system/tunable', why: 'kernel settings can run programs' },
  { resource: 'system/update', why: 'it installs programs' },
  { resource: 'tasks/initshutdown', why: 'root runs the commands' },
  {
    resource: 'tasks/rsync',
    verbs: ['create', 'update', 'remove', 'clear'],
    why: 'it copies files with the rights of an account from and to other machines',
  },
  { resource: 'holdfast/acme', why: 'root runs the hook, and who has a certificate can pass for the appliance' },
  { resource: 'holdfast/cluster', why: 'it ends machines, and runs fence agents as root' },
  { resource: 'holdfast/config', why: 'it contains and replaces the whole configuration' },
  {
    resource: 'holdfast/encryption',
    verbs: ['changeDatasetKey', 'exportDatasetKey'],
    why: 'who has the key of a dataset can read it anywhere',
  },
  { resource: 'holdfast/adopt', verbs: ['*'], why: 'the configuration of other programs has passwords' },
  { resource: 'holdfast/found', why: 'it replaces files of the system' },
  { resource: 'holdfast/https', why: 'it sets how the appliance is reached' },
  { resource: 'holdfast/keys', verbs: ['*'], why: 'keys give rights' },
  { resource: 'holdfast/people', verbs: ['*'], why: 'they give accounts rights' },
  { resource: 'holdfast/plugins', why: 'plugins run programs' },
  { resource: 'holdfast/channels', why: 'the appliance sends messages to the address that it names' },
  { resource: 'holdfast/webhooks', why: 'the appliance sends requests to the address that it names' },
  { resource: 'holdfast/tokens', why: 'a token lets another machine pair with this one' },
];

/** Fields that decide as whom, or with what, a program runs, in addition to those that are declared raw. */
export const privilegedFields: Readonly<Record<string, readonly string[]>> = {
  'tasks/cronjob': ['cron_user'],
  // smartd runs a program with -M exec.
  'storage/disk': ['disk_smartoptions'],
  'services/ups': ['ups_driver', 'ups_port', 'ups_extrausers'],
};

/** Why this amounts to root; undefined if it does not. */
export function privilegeIn({ declared, verb, reads }: Act): string | undefined {
  return privileges.find(
    ({ resource, verbs }) =>
      // Patterns are compared last: most requests read, and few entries are about that.
      (verbs === undefined ? !reads : verbs.includes('*') || verbs.includes(verb)) && matches(resource, declared),
  )?.why;
}

export function isPrivilegedField(declared: string, name: string, { raw }: Field): boolean {
  return raw === true || privilegedFields[declared]?.includes(name) === true;
}
