import { advanced, basic, choice, flag, integer, readOnly, text, titled } from '../../engine/declare/fields.ts';
import { singleton } from '../../engine/declare/resource.ts';
import { renewBootLoader } from './steps.ts';

export const advancedSettings = singleton('system/advanced', {
  shortName: 'system/advanced',
  title: 'advanced settings',
  description: 'Settings of the console, the boot and user interfaces.',
  fields: {
    ...basic('Console', {
      adv_consolemenu: titled(
        'Console menu',
        flag(false, { description: 'Whether the console can be used without a password.' }),
      ),
    }),
    ...advanced('Console', {
      adv_serialconsole: titled(
        'Serial console',
        flag(false, {
          description: 'Whether a serial port is also a console, from the next boot on.',
        }),
      ),
      adv_serialport: titled(
        'Serial port',
        choice(['0x2f8', '0x3f8'], {
          description: 'Address of the serial port: 0x3f8 is the first port, 0x2f8 the second.',
          initial: '0x2f8',
        }),
      ),
      adv_serialspeed: titled(
        'Speed',
        choice(['9600', '19200', '38400', '57600', '115200'], {
          description: 'Speed of the serial console in bits per second.',
          initial: '9600',
        }),
      ),
    }),
    ...advanced('Performance', {
      adv_powerdaemon: titled(
        'Power management',
        flag(false, { description: 'Whether processors save power when the load is low.' }),
      ),
      adv_swapondrive: titled(
        'Swap space of new disks',
        integer({ description: 'Swap space on each new disk, in GiB.', min: 0, max: 1024, initial: 2 }),
      ),
    }),
    ...advanced('Console', {
      adv_consolemsg: titled(
        'Show messages',
        flag(true, { description: 'Whether a user interface shows console messages.' }),
      ),
    }),
    ...advanced('Diagnosis', {
      adv_traceback: titled(
        'Show errors in detail',
        flag(true, { description: 'Whether a user interface shows stack traces.' }),
      ),
      adv_advancedmode: titled(
        'Advanced forms',
        flag(false, { description: 'Whether a user interface shows advanced fields by default.' }),
      ),
    }),
    ...advanced('Performance', {
      adv_autotune: titled(
        'Tune automatically',
        flag(false, {
          description: 'Whether the kernel gets larger network buffers, for fast networks.',
        }),
      ),
    }),
    ...advanced('Diagnosis', {
      adv_debugkernel: titled(
        'Debug kernel',
        flag(false, { description: 'Whether the kernel logs debug messages, from the next boot on.' }),
      ),
      // Holdfast never sends reports, so the default is false.
      adv_uploadcrash: titled(
        'Upload crash reports',
        flag(false, {
          description:
            'Whether crash reports are sent to the vendor. The value is stored only: Holdfast never sends any.',
        }),
      ),
    }),
    adv_anonstats: titled(
      'Anonymous statistics',
      readOnly(
        flag(false, { description: 'Whether usage statistics are sent to the vendor. Holdfast never sends any.' }),
      ),
    ),
    adv_anonstats_token: titled(
      'Token of the statistics',
      readOnly(text({ description: 'Identifier for usage statistics.' })),
    ),
    ...basic('Console', {
      adv_motd: titled(
        'Message of the day',
        text({
          description: 'Message of the day, shown after login.',
          max: 10_240,
          multiline: true,
          initial: 'Welcome',
        }),
      ),
    }),
  },
  onSave({ draft, record, before }) {
    const atStart = ['adv_serialconsole', 'adv_serialport', 'adv_serialspeed', 'adv_debugkernel'] as const;
    if (before === undefined || atStart.every((name) => record[name] === before[name])) return;
    const needed = record.adv_serialconsole || record.adv_debugkernel;
    draft.plan.last(renewBootLoader({ needed }));
  },
});
