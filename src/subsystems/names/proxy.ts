import { lines } from '../../lib/text.ts';

/** The names under which programs look for a proxy. Some know the small ones only, some the capital ones. */
const names = ['http_proxy', 'https_proxy', 'ftp_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'FTP_PROXY'];

/** `http://host:port/`, however it was written. */
export function proxyUrl(proxy: string): string {
  return `${/^https?:\/\//.test(proxy) ? proxy : `http://${proxy}`}`.replace(/\/?$/, '/');
}

/** For who logs in. */
export function proxyProfile(proxy: string): string {
  return lines(
    '# Written by Holdfast.',
    `export ${names.map((name) => `${name}='${proxyUrl(proxy)}'`).join(' ')}`,
    "export no_proxy='localhost,127.0.0.1,::1'",
  );
}

/** For the services, from their next start on. */
export function proxyEnvironment(proxy: string): string {
  return lines(
    '# Written by Holdfast.',
    '[Manager]',
    `DefaultEnvironment=${names.map((name) => `"${name}=${proxyUrl(proxy)}"`).join(' ')} "no_proxy=localhost,127.0.0.1,::1"`,
  );
}

/** For the package manager. */
export function proxyApt(proxy: string): string {
  return lines(
    '// Written by Holdfast.',
    `Acquire::http::Proxy "${proxyUrl(proxy)}";`,
    `Acquire::https::Proxy "${proxyUrl(proxy)}";`,
  );
}
