import { execFile } from 'node:child_process';

/**
 * Tells the service manager how far the daemon is. Node has no datagram sockets in the file system, so systemd's own
 * little program carries the message; it runs at start and at stop only.
 */
export function notifySystemd(state: 'READY=1' | 'STOPPING=1'): Promise<void> {
  if (process.env['NOTIFY_SOCKET'] === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    execFile('systemd-notify', [`--pid=${process.pid}`, state], () => resolve());
  });
}
