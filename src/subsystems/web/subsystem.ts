import { certificate } from '../../areas/certificates/certificate.ts';
import { ownCertificate } from '../../areas/system/own-certificate.ts';
import { endpointsOf, systemSettings } from '../../areas/system/settings.ts';
import type { Access } from '../../engine/change/confirm.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';

/** Comes after the network, because the endpoints listen on its addresses. */
export const webSubsystem: Subsystem = {
  name: 'web',
  description: 'Addresses, ports and certificate of the HTTP interface.',
  reads: [systemSettings, certificate, ownCertificate],
  after: ['network'],
  render: (view) => ({ endpoints: endpointsOf(view) }),
};

/** The endpoint of a client's connection. The one of `--listen` is not among them, because no change closes it. */
export const endpointAccess: Access = {
  name: 'web',
  reads: [systemSettings, certificate, ownCertificate],
  of(view, _facts, { local, port }) {
    const everywhere = local.includes(':') ? '::' : '0.0.0.0';
    const endpoints = endpointsOf(view);
    return JSON.stringify(
      endpoints.filter(
        (endpoint) => endpoint.port === port && (endpoint.address === local || endpoint.address === everywhere),
      ),
    );
  },
};
