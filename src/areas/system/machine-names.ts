import type { World } from '../../engine/declare/resource.ts';
import { certificate } from '../certificates/certificate.ts';
import { ownCertificate } from './own-certificate.ts';
import { ownNames } from './own-names.ts';
import { systemSettings } from './settings.ts';

/** All names by which this machine is addressed, in lower case: its own, and those in the certificates of the interface. */
export function machineNames({ view, facts }: World): ReadonlySet<string> {
  const { stg_guicertificate } = view.only(systemSettings);
  const served = stg_guicertificate === null ? undefined : view.get(certificate, stg_guicertificate);
  const names = [
    ...ownNames({ view, facts }),
    served?.cert_common,
    ...(served?.cert_san ?? []),
    ...view.all(ownCertificate).flatMap(({ further_names }) => further_names),
  ];
  return new Set(names.flatMap((name) => (name ? [name.replace(/^DNS:/i, '').toLowerCase()] : [])));
}
