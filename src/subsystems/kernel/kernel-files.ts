import type { advancedSettings } from '../../areas/system/advanced.ts';
import type { tunable } from '../../areas/system/tunable.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { lines } from '../../lib/text.ts';

type Tunable = RecordOf<typeof tunable.fields>;
type Advanced = RecordOf<typeof advancedSettings.fields>;

const enabled = (tunables: readonly Tunable[], type: Tunable['tun_type']) =>
  tunables.filter((record) => record.tun_enabled && record.tun_type === type);

/** `/etc/sysctl.d/90-holdfast.conf`: sets at the next boot what a change has already set in the running kernel. */
export function sysctlConf(tunables: readonly Tunable[]): string {
  return lines(
    '# Written by Holdfast.',
    enabled(tunables, 'sysctl').map(({ tun_var, tun_value }) => `${tun_var} = ${tun_value}`),
  );
}

/** `/etc/modprobe.d/holdfast.conf`: module options, read when a module is loaded. */
export function modprobeConf(tunables: readonly Tunable[]): string {
  return lines(
    '# Written by Holdfast.',
    enabled(tunables, 'rc').map(({ tun_var, tun_value }) => {
      const dot = tun_var.indexOf('.');
      return `options ${tun_var.slice(0, dot)} ${tun_var.slice(dot + 1)}=${tun_value}`;
    }),
  );
}

const ports = { '0x3f8': 'ttyS0', '0x2f8': 'ttyS1' } as const;

/** `/etc/default/grub.d/holdfast.cfg`, read by a shell: appends arguments to the kernel's command line. */
export function grubCfg(tunables: readonly Tunable[], advanced: Advanced): string {
  const kernelArguments = [
    // The last console gets the boot messages. systemd starts a login on each.
    ...(advanced.adv_serialconsole
      ? ['console=tty0', `console=${ports[advanced.adv_serialport]},${advanced.adv_serialspeed}n8`]
      : []),
    ...(advanced.adv_debugkernel ? ['debug', 'ignore_loglevel'] : []),
    ...enabled(tunables, 'loader').map(({ tun_var, tun_value }) => `${tun_var}=${tun_value}`),
  ];
  return lines(
    '# Written by Holdfast.',
    kernelArguments.length === 0
      ? undefined
      : `GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX "'${kernelArguments.join(' ')}'`,
  );
}

export const autotuneFile = '/etc/sysctl.d/89-holdfast-autotune.conf';

/** Buffers for 10 Gbit/s at a round-trip time of 100 ms. */
export const autotuneConf = lines(
  '# Written by Holdfast.',
  'net.core.rmem_max = 134217728',
  'net.core.wmem_max = 134217728',
  'net.ipv4.tcp_rmem = 4096 131072 67108864',
  'net.ipv4.tcp_wmem = 4096 65536 67108864',
  'net.core.netdev_max_backlog = 30000',
);

/** Applies the file to the running kernel; without the unit it takes effect at the next boot. */
export const autotuneService = lines(
  '[Unit]',
  'Description=Larger buffers of the network',
  '[Service]',
  'Type=oneshot',
  'RemainAfterExit=yes',
  `ExecStart=/usr/sbin/sysctl --quiet --load=${autotuneFile}`,
  '[Install]',
  'WantedBy=multi-user.target',
);
