import { type nisSettings, serversOf } from '../../areas/directoryservice/nis.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { lines } from '../../lib/text.ts';

type Settings = RecordOf<typeof nisSettings.fields>;

/**
 * `/etc/yp.conf`. ypbind chooses the fastest server. It broadcasts for servers when none is configured or when
 * `nis_manycast` is set.
 */
export function ypConf({ nis_domain: domain, nis_servers, nis_manycast: manycast }: Settings): string {
  const servers = serversOf(nis_servers);
  return lines(
    '# Written by Holdfast.',
    servers.map((server) => `domain ${domain} server ${server}`),
    servers.length === 0 || manycast ? `domain ${domain} broadcast` : undefined,
  );
}

/** `/etc/default/nis`: systemd reads the arguments of ypbind from it. */
export function ypbindDefaults({ nis_secure_mode: secure }: Settings): string {
  return lines('# Written by Holdfast.', `YPBINDARGS=${secure ? '' : '-broken-server'}`);
}
