import { lines } from '../../lib/text.ts';

/**
 * Environment variables for the proxy. Some programs read only the lower-case names, others only the upper-case ones.
 */
const names = ['http_proxy', 'https_proxy', 'ftp_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'FTP_PROXY'];

/** The proxy as `http://host:port/`; the setting may omit the scheme and the slash. */
export function proxyUrl(proxy: string): string {
  return `${/^https?:\/\//.test(proxy) ? proxy : `http://${proxy}`}`.replace(/\/?$/, '/');
}

/** For login shells. */
export function proxyProfile(proxy: string): string {
  return lines(
    '# Written by Holdfast.',
    `export ${names.map((name) => `${name}='${proxyUrl(proxy)}'`).join(' ')}`,
    "export no_proxy='localhost,127.0.0.1,::1'",
  );
}

/** For systemd services, from their next start on. */
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
