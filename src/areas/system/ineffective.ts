import type { View } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';
import { cifsSettings } from '../services/cifs.ts';
import { domainControllerSettings } from '../services/domaincontroller.ts';
import { tunable } from './tunable.ts';

/** A setting that the document has and that has no effect on this machine. */
export interface Ineffective {
  readonly field: string;
  readonly message: string;
}

/** Names of loader variables of FreeBSD, none of which Linux has as a kernel argument. */
const foreignVariable = /^(compat|dev|hw|kern|kstat|machdep|net|security|vfs|vm)\.|_load$/;

/** The document requires that these values are accepted, so they are reported instead of refused. */
export function ineffectiveSettings(view: View): readonly Ineffective[] {
  const found: Ineffective[] = [];
  if (view.only(cifsSettings).cifs_srv_authmodel === 'share')
    found.push({
      field: 'cifs_srv_authmodel',
      message:
        'cifs_srv_authmodel is share, which Samba no longer has: clients log in with an account. Set it to user; for access without a password set cifs_guestok of the share.',
    });
  const { dc_dns_backend: backend } = view.only(domainControllerSettings);
  if (backend.startsWith('BIND9'))
    found.push({
      field: 'dc_dns_backend',
      message: `dc_dns_backend is ${backend}, but Holdfast does not run BIND: without one that you set up, no server answers for the names of the domain. Set SAMBA_INTERNAL before the domain is created.`,
    });
  for (const { id, tun_var, tun_type, tun_enabled } of view.all(tunable))
    if (tun_enabled && tun_type === 'loader' && foreignVariable.test(tun_var))
      found.push({
        field: `tun_var ${id}`,
        message: `The tunable ${quote(tun_var)} is a loader variable of FreeBSD and has no effect on Linux. Set the parameter of the kernel or of the module, such as zfs.zfs_arc_max, or disable the tunable.`,
      });
  return found;
}
