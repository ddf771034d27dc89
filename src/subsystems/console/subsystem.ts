import { advancedSettings } from '../../areas/system/advanced.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { lines } from '../../lib/text.ts';

const folder = '/etc/systemd/system';

/** A login that nobody is asked for: only who stands before the machine gets it. */
const openConsole = lines('[Service]', 'ExecStart=', 'ExecStart=-/sbin/agetty --autologin root --noclear %I $TERM');

/** Read at every start. A processor that cannot be told has no such file, which the minus lets pass. */
const saving = lines(
  '# Written by Holdfast.',
  'w- /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor - - - - powersave',
);

export const consoleSubsystem: Subsystem = {
  name: 'console',
  description: 'What one meets at the console, and how the processors save power.',
  reads: [advancedSettings],
  render(view) {
    const { adv_motd, adv_consolemenu, adv_powerdaemon } = view.only(advancedSettings);
    return {
      files: [
        { path: '/etc/motd', content: adv_motd === '' ? '' : `${adv_motd}\n` },
        {
          path: `${folder}/getty@tty1.service.d/holdfast.conf`,
          content: adv_consolemenu ? openConsole : '# The console asks who is there.\n',
          forServiceManager: true,
        },
        { path: '/etc/tmpfiles.d/holdfast-power.conf', content: adv_powerdaemon ? saving : undefined },
      ],
    };
  },
};
