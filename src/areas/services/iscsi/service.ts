import { service, tcp } from '../service.ts';

/** Served by the kernel or by tgt, so there is no unit to look at. */
export const iscsiService = service('iscsitarget', {
  servesVolumes: true,
  listens: [tcp(3260)],
  look: ({ targets }) => ({ isAvailable: targets.engine !== undefined, isRunning: targets.serving }),
});
