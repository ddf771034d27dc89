import {
  advanced,
  basic,
  choice,
  flag,
  integer,
  nullable,
  raw,
  refine,
  required,
  secret,
  text,
  titled,
} from '../../engine/declare/fields.ts';
import { configLines, mailAddresses, port } from '../../engine/declare/formats.ts';
import { singleton } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';
import { service, tcp } from './service.ts';

/** Drivers of Debian's packages nut-server, nut-snmp, nut-ipmi, nut-xml, nut-modbus and nut-i2c. */
const drivers: ReadonlySet<string> = new Set(
  `adelsystem_cbi al175 apc_modbus apcsmart apcsmart-old apcupsd-ups asem bcmxcp bcmxcp_usb belkin belkinunv bestfcom bestfortress bestuferrups bestups
  blazer_ser blazer_usb clone clone-outlet dummy-ups etapro everups gamatronic generic_modbus genericups huawei-ups2000 isbmex ivtscd liebert liebert-esp2
  masterguard metasys mge-shut mge-utalk microdowell microsol-apc netxml-ups nut-ipmipsu nutdrv_atcl_usb nutdrv_qx nutdrv_siemens-sitop oneac optiups
  phoenixcontact_modbus powercom powerpanel rhino richcomm_usb riello_ser riello_usb safenet sms_ser snmp-ups socomec_jbus solis tripplite tripplite_usb
  tripplitesu upscode2 usbhid-ups victronups`.split(/\s+/),
);

export const upsSettings = singleton('services/ups', {
  shortName: 'service/ups',
  title: 'UPS settings',
  description: 'Which uninterruptible power supply feeds the machine, and when it shuts the machine down.',
  fields: {
    ...basic('Connection', {
      ups_mode: choice(['master', 'slave'], {
        description:
          'Whether the UPS is connected to this machine (master) or to another one that reports its state (slave).',
        initial: 'master',
      }),
      ups_identifier: name(
        'Name of the UPS.',
        'ups',
        /^[A-Za-z0-9._-]+$/,
        'Expected letters, digits, dots, hyphens and underscores.',
      ),
      ups_driver: refine(
        text({
          description:
            'Driver, its settings if it requires any, and the model after a dollar sign: usbhid-ups$Back-UPS, genericups upstype=3$model.',
          max: 120,
          pattern: /^[\w-]+(?: \w+=[\w.-]+)*(?:\$.+)?$/,
          rule: 'Expected a driver, as usbhid-ups$Back-UPS.',
        }),
        (value) =>
          value === '' || drivers.has(driverOf(value).driver)
            ? undefined
            : `Expected a driver of Network UPS Tools, got ${quote(driverOf(value).driver)}.`,
      ),
      ups_port: text({
        description:
          'Port of the UPS: auto for USB, otherwise a serial port, a host or another value that the driver requires.',
        max: 120,
      }),
    }),
    ...advanced('Connection', {
      ups_remotehost: titled(
        'Remote host',
        text({
          description: 'Host that the UPS is connected to, for the mode slave.',
          max: 50,
          pattern: /^[A-Za-z0-9._:-]+$/,
          rule: 'Expected a host name or an address.',
        }),
      ),
      ups_remoteport: titled(
        'Remote port',
        port({
          description: 'TCP port of the NUT server, on this machine or on ups_remotehost.',
          initial: 3493,
        }),
      ),
    }),
    ...advanced('Further', {
      ups_options: titled(
        'Lines for ups.conf',
        configLines({ description: 'Additional lines for the section of the UPS in ups.conf.' }),
      ),
      // Not listed in the document (gaps 8.14); nor are ups_shutdowncmd and ups_powerdown.
      ups_optionsupsd: titled('Lines for upsd.conf', configLines({ description: 'Additional lines of upsd.conf.' })),
    }),
    ...basic('Connection', {
      ups_description: text({ description: 'Description of the UPS.', max: 120 }),
    }),
    ...basic('Shutdown', {
      ups_shutdown: titled(
        'When to shut down',
        choice(['batt', 'lowbatt'], {
          description:
            'When the machine shuts down: ups_shutdowntimer seconds after the UPS switched to battery (batt), or when the battery is low (lowbatt). With batt, a low battery also shuts it down.',
          initial: 'batt',
        }),
      ),
      ups_shutdowntimer: titled(
        'Delay',
        integer({
          description: 'Seconds on battery after which the machine shuts down.',
          min: 0,
          max: 2 ** 31 - 1,
          initial: 30,
        }),
      ),
    }),
    ...basic('Shutdown', {
      ups_shutdowncmd: titled(
        'Command',
        required(raw(text({ description: 'Command line that shuts the machine down, as root.' }))),
      ),
    }),
    ...advanced('Monitoring', {
      ups_nocommwarntime: titled(
        'Warn without contact after',
        nullable(
          integer({
            description: 'Seconds between two warnings that the UPS does not answer; 300 when null.',
            min: 1,
            max: 2 ** 31 - 1,
          }),
        ),
      ),
      ups_monuser: titled(
        'User',
        name(
          'Account of the NUT server that this machine and others read the state of the UPS with.',
          'upsmon',
          /^[^\s#"\\[\]]+$/,
          'Expected a name without spaces and the characters # " \\ [ ].',
        ),
      ),
      ups_monpwd: titled(
        'Password',
        secret(
          name(
            'Password of ups_monuser.',
            'fixmepass',
            /^[^\s#"\\]+$/,
            'Expected a password without spaces and the characters # " \\.',
            30,
          ),
        ),
      ),
      ups_extrausers: titled(
        'Further users',
        secret(text({ description: 'Additional accounts: sections of upsd.users.', multiline: true, max: 16_384 })),
      ),
      ups_rmonitor: titled(
        'Remote monitoring',
        flag(false, { description: 'Whether other machines may connect to the NUT server.' }),
      ),
    }),
    ...basic('Notifications', {
      ups_emailnotify: titled('Send mail', flag(false, { description: 'Whether events of the UPS are mailed.' })),
      ups_toemail: titled(
        'Mail addresses',
        mailAddresses({
          description: 'Recipients of mail about the UPS; the address of root when empty.',
          between: ';',
          max: 120,
        }),
      ),
      ups_subject: text({
        description: 'Subject of mail about the UPS; %h is the name of the machine, %d the date.',
        max: 120,
        initial: 'UPS report generated by %h',
      }),
    }),
    ...advanced('Shutdown', {
      ups_powerdown: titled(
        'Switch off the UPS',
        flag(true, { description: 'Whether the UPS cuts the power after the machine has shut down.' }),
      ),
    }),
  },
  seed: () => ({ ups_shutdowncmd: '/sbin/shutdown -p now' }),
  check({ record, issues }) {
    if (record.ups_mode === 'slave' && record.ups_remotehost === '')
      issues.add('ups_remotehost', 'ups_remotehost is required when ups_mode is slave.');
    // Without a driver no UPS is configured yet: clients set these fields one by one (gaps 8.14).
    if (record.ups_mode === 'master' && record.ups_driver !== '' && record.ups_port === '')
      issues.add('ups_port', 'ups_port is required when ups_driver is set.');
  },
});

export const upsService = service('ups', {
  settings: upsSettings,
  // The monitor runs for local and remote UPSs; the ups subsystem manages the server and the driver.
  programs: ['nut-monitor'],
  helpers: ['nut-server'],
  hasWork: (view) => {
    const { ups_mode, ups_driver } = view.only(upsSettings);
    return ups_mode === 'slave' || ups_driver !== '';
  },
  listens: ({ ups_mode, ups_rmonitor, ups_remoteport }) =>
    ups_mode === 'slave'
      ? []
      : [{ ...tcp(ups_remoteport, 'ups_remoteport'), address: ups_rmonitor ? undefined : '127.0.0.1' }],
});

/** The driver program, and the lines of ups.conf that follow from its settings. */
export function driverOf(value: string): { readonly driver: string; readonly lines: readonly string[] } {
  const [argv = ''] = value.split('$');
  const [driver = '', ...settings] = argv.split(' ').filter((part) => part !== '');
  return { driver, lines: settings.map((setting) => setting.replace('=', ' = ')) };
}

function name(description: string, initial: string, pattern: RegExp, rule: string, max = 255) {
  return refine(text({ description, initial, pattern, rule, max }), (value) =>
    value === '' ? 'Expected a text, got an empty one.' : undefined,
  );
}
