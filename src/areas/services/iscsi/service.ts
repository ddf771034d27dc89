import { service, tcp } from '../service.ts';
import { iscsiTarget } from './target.ts';

/** Served by the kernel or by tgt, so there is no unit to look at. */
export const iscsiService = service('iscsitarget', {
  servesVolumes: true,
  helpers: ['tgt'],
  listens: [tcp(3260)],
  hasWork: (view) => view.all(iscsiTarget).length > 0,
  look: ({ targets }) => ({ isAvailable: targets.engine !== undefined, isRunning: targets.serving }),
});
