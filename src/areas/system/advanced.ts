import { choice, flag, integer, readOnly, text } from '../../engine/declare/fields.ts';
import { singleton } from '../../engine/declare/resource.ts';
import { renewBootLoader } from './steps.ts';

export const advancedSettings = singleton('system/advanced', {
  title: 'advanced settings',
  description: 'Settings of the console, the boot and user interfaces.',
  fields: {
    adv_consolemenu: flag(false, { description: 'Whether the console can be used without a password.' }),
    adv_serialconsole: flag(false, {
      description: 'Whether a serial port is also a console, from the next boot on.',
    }),
    adv_serialport: choice(['0x2f8', '0x3f8'], {
      description: 'Address of the serial port: 0x3f8 is the first port, 0x2f8 the second.',
      initial: '0x2f8',
    }),
    adv_serialspeed: choice(['9600', '19200', '38400', '57600', '115200'], {
      description: 'Speed of the serial console in bits per second.',
      initial: '9600',
    }),
    adv_powerdaemon: flag(false, { description: 'Whether processors save power when the load is low.' }),
    adv_swapondrive: integer({ description: 'Swap space on each new disk, in GiB.', min: 0, max: 1024, initial: 2 }),
    adv_consolemsg: flag(true, { description: 'Whether a user interface shows console messages.' }),
    adv_traceback: flag(true, { description: 'Whether a user interface shows stack traces.' }),
    adv_advancedmode: flag(false, { description: 'Whether a user interface shows advanced fields by default.' }),
    adv_autotune: flag(false, {
      description: 'Whether the kernel gets larger network buffers, for fast networks.',
    }),
    adv_debugkernel: flag(false, { description: 'Whether the kernel logs debug messages, from the next boot on.' }),
    // Holdfast never sends reports, so the default is false.
    adv_uploadcrash: flag(false, {
      description: 'Whether crash reports are sent to the vendor. The value is stored only: Holdfast never sends any.',
    }),
    adv_anonstats: readOnly(
      flag(false, { description: 'Whether usage statistics are sent to the vendor. Holdfast never sends any.' }),
    ),
    adv_anonstats_token: readOnly(text({ description: 'Identifier for usage statistics.' })),
    adv_motd: text({
      description: 'Message of the day, shown after login.',
      max: 10_240,
      multiline: true,
      initial: 'Welcome',
    }),
  },
  onSave({ draft, record, before }) {
    const atStart = ['adv_serialconsole', 'adv_serialport', 'adv_serialspeed', 'adv_debugkernel'] as const;
    if (before === undefined || atStart.every((name) => record[name] === before[name])) return;
    const needed = record.adv_serialconsole || record.adv_debugkernel;
    draft.plan.last(renewBootLoader({ needed }));
  },
});
