import type { Subsystem } from '../../engine/declare/subsystem.ts';
import { zfsAdoption } from './adopt.ts';

/**
 * zed is enabled by its package, but starts at boot only if the kernel module is loaded by then. On a machine that got
 * its first pool after that, it would not run until the next boot.
 */
export const zfsSubsystem: Subsystem = {
  name: 'zfs',
  description: 'The ZFS Event Daemon replaces failed disks by spares, and notices disks that come back.',
  reads: [],
  adopts: zfsAdoption,
  services: ['zfs-zed'],
  render: () => ({ services: [{ name: 'zfs-zed', running: true, onChange: 'nothing' }] }),
};
