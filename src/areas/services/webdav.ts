import { basic, choice, nullable, reference, secret, text, titled } from '../../engine/declare/fields.ts';
import { port } from '../../engine/declare/formats.ts';
import { type RecordOf, singleton, type View } from '../../engine/declare/resource.ts';
import { type Pair, pairOf } from '../certificates/certificate.ts';
import { tlsProblem } from '../certificates/x509.ts';
import { service, tcp } from './service.ts';

/** Not part of the document (gaps 18). */
export const webdavSettings = singleton('services/webdav', {
  shortName: 'service/webdav',
  title: 'WebDAV settings',
  description: 'How the WebDAV server serves the WebDAV shares.',
  fields: {
    ...basic('Connections', {
      webdav_protocol: choice(['http', 'https', 'httphttps'], {
        description: 'Whether clients connect by HTTP, by HTTPS or by both.',
        initial: 'http',
      }),
      webdav_tcpport: titled('HTTP port', port({ description: 'TCP port for HTTP.', initial: 8080 })),
      webdav_tcpportssl: titled('HTTPS port', port({ description: 'TCP port for HTTPS.', initial: 8081 })),
    }),
    ...basic('Access', {
      webdav_password: secret(
        text({ description: 'Password of the user webdav, which clients log in with.', max: 120, initial: 'davtest' }),
      ),
      webdav_htauth: titled(
        'Authentication',
        choice(['none', 'basic', 'digest'], {
          description:
            'HTTP authentication: basic sends the password itself, digest sends a hash of it, none disables authentication.',
          initial: 'digest',
        }),
      ),
    }),
    ...basic('Connections', {
      webdav_certssl: titled(
        'Certificate',
        nullable(
          reference('system/certificate', {
            description: 'Id of a certificate with a private key, for HTTPS.',
            onRemove: { becomes: null },
            holds: ({ webdav_protocol }) =>
              webdav_protocol === 'http'
                ? undefined
                : 'The WebDAV server uses this certificate for HTTPS. Before you delete it, set webdav_certssl to another certificate or webdav_protocol to http.',
          }),
        ),
      ),
    }),
  },
  check({ record, view, issues }) {
    if (record.webdav_protocol === 'httphttps' && record.webdav_tcpport === record.webdav_tcpportssl)
      issues.add('webdav_tcpportssl', `webdav_tcpportssl must differ from webdav_tcpport (${record.webdav_tcpport}).`);
    const pair = webdavPair(view, record);
    if (typeof pair === 'string') issues.add('webdav_certssl', pair);
  },
});

export const webdavService = service('webdav', {
  settings: webdavSettings,
  // A separate instance: Holdfast does not touch the Apache of the machine.
  programs: ['holdfast-webdav'],
  servesVolumes: true,
  listens: ({ webdav_protocol, webdav_tcpport, webdav_tcpportssl }) => [
    ...(webdav_protocol === 'https' ? [] : [tcp(webdav_tcpport, 'webdav_tcpport')]),
    ...(webdav_protocol === 'http' ? [] : [tcp(webdav_tcpportssl, 'webdav_tcpportssl')]),
  ],
});

export type WebdavSettings = RecordOf<typeof webdavSettings.fields>;

/** The certificate and key for HTTPS, or a problem message; undefined without HTTPS. */
export function webdavPair(
  view: View,
  { webdav_protocol, webdav_certssl: id }: WebdavSettings,
): Pair | string | undefined {
  if (webdav_protocol === 'http') return undefined;
  if (id === null) return 'webdav_certssl is required when webdav_protocol includes HTTPS.';
  const pair = pairOf(view, id);
  return typeof pair === 'string' ? pair : (tlsProblem(pair.chain, pair.key) ?? pair);
}
