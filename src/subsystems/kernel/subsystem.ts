import { advancedSettings } from '../../areas/system/advanced.ts';
import { tunable } from '../../areas/system/tunable.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { autotuneConf, autotuneFile, autotuneService, grubCfg, modprobeConf, sysctlConf } from './kernel-files.ts';

/**
 * Settings that the kernel reads at boot. A step of the change applies them to the running kernel
 * (`areas/system/tunable.ts`).
 */
export const kernelSubsystem: Subsystem = {
  name: 'kernel',
  description: 'Parameters, modules and command line of the kernel.',
  reads: [tunable, advancedSettings],
  render(view) {
    const tunables = view.all(tunable);
    return {
      files: [
        { path: '/etc/sysctl.d/90-holdfast.conf', content: sysctlConf(tunables) },
        { path: '/etc/modprobe.d/holdfast.conf', content: modprobeConf(tunables) },
        { path: '/etc/default/grub.d/holdfast.cfg', content: grubCfg(tunables, view.only(advancedSettings)) },
      ],
    };
  },
};

const autotune = 'holdfast-autotune';

export const autotuneSubsystem: Subsystem = {
  name: 'autotune',
  description: 'Larger network buffers, if adv_autotune is set.',
  reads: [advancedSettings],
  services: [autotune],
  render(view) {
    const { adv_autotune: enabled } = view.only(advancedSettings);
    return {
      files: [
        { path: autotuneFile, content: enabled ? autotuneConf : undefined },
        { path: `/etc/systemd/system/${autotune}.service`, content: autotuneService, forServiceManager: true },
      ],
      services: [{ name: autotune, running: enabled, onChange: 'restart' }],
    };
  },
};
