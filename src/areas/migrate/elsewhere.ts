/** Tables without a counterpart: what they were for is named, and what is only state is not. */
import type { Row } from './database.ts';
import { type Mapping, stay } from './mapping.ts';

const state = (...tables: readonly string[]): readonly Mapping[] =>
  tables.map((table) => ({ table, columns: {}, isState: true }));

const without = (table: string, reason: (row: Row) => string, remedy: string): Mapping => ({
  table,
  columns: {},
  stays: (row) => stay(reason(row), remedy),
});

const jail = 'Its programs are for FreeBSD. Make a new one from a template for Linux, and copy its data.';

export const elsewhere: readonly Mapping[] = [
  without('account_api_key', (row) => `The key ${row.text('name')} opened the old interface.`, 'Make a new key.'),
  without('jails_jailmountpoint', (row) => `The jail ${row.text('jail')} saw ${row.text('source')}.`, jail),
  without(
    'plugins_plugins',
    (row) => `The plugin ${row.text('plugin_name')} ran in the jail ${row.text('plugin_jail')}.`,
    jail,
  ),
  without(
    'tasks_cloudsync',
    (row) => `The task ${row.text('description')} copied to a cloud.`,
    'Use a program such as rclone.',
  ),
  without(
    'system_cloudcredentials',
    (row) => `The credentials ${row.text('name')} are for a cloud.`,
    'Use a program such as rclone.',
  ),
  without(
    'storage_vmwareplugin',
    (row) => `Snapshots were made together with VMware at ${row.text('hostname')}.`,
    'Make them there.',
  ),
  without(
    'vm_vm',
    (row) => `The virtual machine ${row.text('name')} does not run here.`,
    'Its disks stay in the pool.',
  ),
  without(
    'vm_device',
    (row) => `A device ${row.text('dtype')} of a virtual machine stays behind.`,
    'Its disks stay in the pool.',
  ),
  without(
    'system_alertservice',
    (row) => `Alerts went to ${row.text('name') || row.text('consulalert_type')}.`,
    'Make a webhook: docs/programs.md.',
  ),
  without(
    'system_consulalerts',
    (row) => `Alerts went to ${row.text('consulalert_type')}.`,
    'Make a webhook: docs/programs.md.',
  ),
  without('system_acmednsauthenticator', (row) => `${row.text('name')} proved names by DNS.`, 'Set up ACME here.'),
  {
    ...without(
      'system_twofactorauthentication',
      () => 'The old interface asked for a second factor.',
      'Set one up: docs/people.md.',
    ),
    isUsual: (row) => !row.flag('enabled'),
  },
  {
    ...without('system_kmip', () => 'Keys were kept on a server for KMIP.', 'Keep them yourself.'),
    isUsual: (row) => !row.flag('enabled'),
  },
  {
    ...without('jails_jailsconfiguration', (row) => `Jails were in ${row.text('jc_path')}.`, jail),
    isUsual: (row) => row.text('jc_path') === '',
  },
  {
    ...without('storage_resilver', () => 'Hours in which disks are rebuilt faster do not exist here.', 'Nothing.'),
    isUsual: (row) => !row.flag('enabled'),
  },
  {
    ...without(
      'system_systemdataset',
      (row) => `The old appliance kept logs and state in ${row.text('sys_pool')}/.system.`,
      'Destroy it once nothing is missed.',
    ),
    isUsual: (row) =>
      row.text('sys_pool') === '' || row.text('sys_pool') === 'freenas-boot' || row.text('sys_pool') === 'boot-pool',
  },
  {
    ...without(
      'system_alertclasses',
      () => 'It was chosen which alerts are sent, and how often.',
      'Choose again: docs/notifications.md.',
    ),
    isUsual: (row) => /^\s*(?:|\{\s*\})\s*$/.test(row.text('classes')),
  },
  {
    ...without(
      'system_reporting',
      (row) => `Statistics were sent to ${row.text('graphite')}, or kept for another time than usual.`,
      'Let Prometheus read the metrics.',
    ),
    isUsual: (row) =>
      row.text('graphite') === '' &&
      /^(?:|12)$/.test(row.text('graph_age')) &&
      /^(?:|1200)$/.test(row.text('graph_points')) &&
      !row.flag('cpu_in_percentage'),
  },
  {
    ...without(
      'system_truecommand',
      () => 'TrueCommand managed the appliance.',
      'Make a key: holdfast key create --help.',
    ),
    isUsual: (row) => !row.flag('enabled'),
  },
  {
    ...without(
      'vcp_vcenterconfiguration',
      (row) => `The plug-in for vCenter at ${row.text('vc_ip')} was set up.`,
      'Remove it there: Holdfast has none.',
    ),
    isUsual: (row) => row.text('vc_ip') === '',
  },
  ...state('system_alert', 'system_alertdefaultsettings', 'system_update', 'system_backup'),
  ...state('system_support', 'system_filesystem', 'system_keyvalue', 'system_migration', 'support_support'),
  ...state('system_acmeregistration', 'system_acmeregistrationbody'),
  ...state('services_rpctoken', 'services_servicemonitor', 'storage_quotaexcess', 'storage_mountpoint'),
  ...state('plugins_configuration', 'plugins_kmod', 'plugins_nullmountpoint', 'services_pluginsjail'),
  ...state('jails_jailtemplate', 'vcp_vcenterauxsettings', 'system_failover'),
];
