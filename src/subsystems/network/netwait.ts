import { unitWord } from '../../lib/systemd.ts';
import { lines } from '../../lib/text.ts';

/** Seconds after which the services start even if no address has answered. */
const waitSeconds = 60;

const script = `end=$(($(date +%s) + ${waitSeconds})); while [ $(date +%s) -lt $end ]; do for ip; do ping -c 1 -W 1 "$ip" >/dev/null 2>&1 && exit 0; done; sleep 1; done; echo "none of $* answered in ${waitSeconds} s"`;

/** A unit that delays the services at boot until one of the addresses answers a ping. SSH does not wait for it. */
export function netwaitUnit(addresses: readonly string[], services: readonly string[]): string {
  return lines(
    '# Written by Holdfast.',
    '[Unit]',
    'Description=Wait for the network',
    'Wants=network.target',
    'After=network.target systemd-networkd.service',
    `Before=network-online.target ${services.map((name) => `${name}.service`).join(' ')}`,
    '',
    '[Service]',
    'Type=oneshot',
    'RemainAfterExit=yes',
    `TimeoutStartSec=${waitSeconds + 30}`,
    `ExecStart=/bin/sh -c ${[script, 'netwait', ...addresses].map(unitWord).join(' ')}`,
  );
}

/** Pulls the unit in at boot. `systemctl enable --now` would also run it now. */
export const netwaitDropIn: string = lines('# Written by Holdfast.', '[Unit]', 'Wants=holdfast-netwait.service');

/**
 * Changes systemd's own wait for the network: for any one link and 30 seconds, instead of all links and two minutes. On
 * a machine without links that networkd configures, the unit is skipped, because it would wait in vain.
 */
export const waitOnlineDropIn: string = lines(
  '# Written by Holdfast.',
  '[Unit]',
  'ConditionPathExistsGlob=|/etc/systemd/network/*.network',
  'ConditionPathExistsGlob=|/run/systemd/network/*.network',
  '',
  '[Service]',
  'ExecStart=',
  'ExecStart=-/usr/lib/systemd/systemd-networkd-wait-online --any --timeout=30',
);
