import { choice, flag, integer, readOnly, text } from '../../engine/declare/fields.ts';
import { singleton } from '../../engine/declare/resource.ts';

export const advancedSettings = singleton('system/advanced', {
  title: 'advanced settings',
  description: 'Settings of the console, of the start and of what user interfaces show.',
  fields: {
    adv_consolemenu: flag(false, { description: 'Whether the console of the machine is open without a password.' }),
    adv_serialconsole: flag(false, {
      description: 'Whether there is a console on a serial port too, from the next start on.',
    }),
    adv_serialport: choice(['0x2f8', '0x3f8'], {
      description: 'Port of the serial console by its address: 0x3f8 is the first, 0x2f8 the second.',
      initial: '0x2f8',
    }),
    adv_serialspeed: choice(['9600', '19200', '38400', '57600', '115200'], {
      description: 'Speed of the serial console in bits a second.',
      initial: '9600',
    }),
    adv_powerdaemon: flag(false, { description: 'Whether the processors save power while there is little to do.' }),
    adv_swapondrive: integer({ description: 'Swap space on each new disk, in GiB.', min: 0, max: 1024, initial: 2 }),
    adv_consolemsg: flag(true, { description: "Whether a user interface shows the console's messages." }),
    adv_traceback: flag(true, { description: 'Whether a user interface shows where a fault happened.' }),
    adv_advancedmode: flag(false, { description: 'Whether a user interface shows fields for experts at once.' }),
    adv_autotune: flag(false, {
      description: 'Whether the network buffers of the kernel are made larger, for fast networks.',
    }),
    adv_debugkernel: flag(false, { description: 'Whether the kernel tells all it does, from the next start on.' }),
    // Nothing is ever sent to anybody, so a fresh system does not say that something is.
    adv_uploadcrash: flag(false, {
      description: 'Whether reports of crashes are sent to the maker. None are, whatever this says.',
    }),
    adv_anonstats: readOnly(
      flag(false, { description: 'Whether figures about the use are sent to the maker. None are.' }),
    ),
    adv_anonstats_token: readOnly(text({ description: 'What such figures would be sent under.' })),
    adv_motd: text({
      description: 'What one is greeted with after logging in.',
      max: 10_240,
      multiline: true,
      initial: 'Welcome',
    }),
  },
  onSave({ draft, record, before }) {
    const atStart = ['adv_serialconsole', 'adv_serialport', 'adv_serialspeed', 'adv_debugkernel'] as const;
    if (before === undefined || atStart.every((name) => record[name] === before[name])) return;
    const needed = record.adv_serialconsole || record.adv_debugkernel;
    draft.plan.last({
      title: 'let the boot loader read its settings',
      perform: ({ machine }) => machine.renewBootLoader({ needed }),
    });
  },
});
