import { choice, nullable, reference, secret, text } from '../../engine/declare/fields.ts';
import { port } from '../../engine/declare/formats.ts';
import { type RecordOf, singleton, type View } from '../../engine/declare/resource.ts';
import { type Pair, pairOf } from '../system/certificate.ts';
import { tlsProblem } from '../system/x509.ts';

/** Beyond the document (gaps 18). */
export const webdavSettings = singleton('services/webdav', {
  title: 'WebDAV settings',
  description: 'How the WebDAV server serves the WebDAV shares.',
  fields: {
    webdav_protocol: choice(['http', 'https', 'httphttps'], {
      description: 'Whether clients come by HTTP, by HTTPS, or by either.',
      initial: 'http',
    }),
    webdav_tcpport: port({ description: 'TCP port for HTTP.', initial: 8080 }),
    webdav_tcpportssl: port({ description: 'TCP port for HTTPS.', initial: 8081 }),
    webdav_password: secret(
      text({ description: 'Password of the user webdav, whom clients log in as.', max: 120, initial: 'davtest' }),
    ),
    webdav_htauth: choice(['none', 'basic', 'digest'], {
      description:
        'How clients log in: basic sends the password itself, digest proves that it is known, none lets everybody in.',
      initial: 'digest',
    }),
    webdav_certssl: nullable(
      reference('system/certificate', {
        description: 'A certificate of the appliance, with its key, for HTTPS.',
        onRemove: { becomes: null },
        holds: ({ webdav_protocol }) =>
          webdav_protocol === 'http'
            ? undefined
            : 'The WebDAV server speaks HTTPS with this certificate: give it another, or set webdav_protocol to http, before this one goes.',
      }),
    ),
  },
  check({ record, view, issues }) {
    if (record.webdav_protocol === 'httphttps' && record.webdav_tcpport === record.webdav_tcpportssl)
      issues.add('webdav_tcpportssl', `HTTP has the port ${record.webdav_tcpport}: HTTPS needs one of its own.`);
    const pair = webdavPair(view, record);
    if (typeof pair === 'string') issues.add('webdav_certssl', pair);
  },
});

export type WebdavSettings = RecordOf<typeof webdavSettings.fields>;

/** The certificate and key for HTTPS, or what is wrong with them; undefined when there is no HTTPS. */
export function webdavPair(
  view: View,
  { webdav_protocol, webdav_certssl: id }: WebdavSettings,
): Pair | string | undefined {
  if (webdav_protocol === 'http') return undefined;
  if (id === null) return 'HTTPS needs a certificate of the appliance.';
  const pair = pairOf(view, id);
  return typeof pair === 'string' ? pair : (tlsProblem(pair.chain, pair.key) ?? pair);
}
