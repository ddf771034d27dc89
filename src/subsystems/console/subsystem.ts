import { advancedSettings } from '../../areas/system/advanced.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { lines } from '../../lib/text.ts';

const folder = '/etc/systemd/system';

/**
 * Logs root in on the console without a password, as `adv_consolemenu` requires. Physical access is needed to use it.
 */
const openConsole = lines('[Service]', 'ExecStart=', 'ExecStart=-/sbin/agetty --autologin root --noclear %I $TERM');

/** Applied at every boot. The minus ignores a missing file: not every processor has a frequency governor. */
const saving = lines(
  '# Written by Holdfast.',
  'w- /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor - - - - powersave',
);

export const consoleSubsystem: Subsystem = {
  name: 'console',
  description: 'Login message, console login and CPU power saving.',
  reads: [advancedSettings],
  render(view) {
    const { adv_motd, adv_consolemenu, adv_powerdaemon } = view.only(advancedSettings);
    return {
      files: [
        { path: '/etc/motd', content: adv_motd === '' ? '' : `${adv_motd}\n` },
        {
          path: `${folder}/getty@tty1.service.d/holdfast.conf`,
          content: adv_consolemenu ? openConsole : '# Written by Holdfast. The console requires a login.\n',
          forServiceManager: true,
        },
        { path: '/etc/tmpfiles.d/holdfast-power.conf', content: adv_powerdaemon ? saving : undefined },
      ],
    };
  },
};
