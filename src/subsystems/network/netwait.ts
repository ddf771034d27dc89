import { unitWord } from '../../lib/systemd.ts';
import { lines } from '../../lib/text.ts';

/** Seconds after which the services start although nobody answered. */
const patience = 60;

const script = `end=$(($(date +%s) + ${patience})); while [ $(date +%s) -lt $end ]; do for ip; do ping -c 1 -W 1 "$ip" >/dev/null 2>&1 && exit 0; done; sleep 1; done; echo "none of $* answered in ${patience} s"`;

/** A part of the machine's start that ends when one of the addresses answers. SSH does not wait for it. */
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
    `TimeoutStartSec=${patience + 30}`,
    `ExecStart=/bin/sh -c ${[script, 'netwait', ...addresses].map(unitWord).join(' ')}`,
  );
}

/** Has it pulled in by a start, without running it now as enabling it by the service manager would. */
export const netwaitDropIn: string = lines('# Written by Holdfast.', '[Unit]', 'Wants=holdfast-netwait.service');

/**
 * systemd's own waiting: for any one link and half a minute, not for all and two minutes. A machine whose links
 * networkd does not configure would wait for nothing.
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
