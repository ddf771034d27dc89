import type { DomainSettings } from '../../areas/directoryservice/domain-fields.ts';
import { lines } from '../../lib/text.ts';

/**
 * The service that monitors the connection to the domain. As a systemd service it also runs while Holdfast is updated.
 */
export const monitorName = 'holdfast-domain-monitor';

export function monitorUnit({ ad_monitor_frequency: seconds, ad_recover_retry: tries }: DomainSettings): string {
  return lines(
    '# Written by Holdfast.',
    '[Unit]',
    'Description=Connection to the Active Directory domain',
    'After=winbind.service',
    '',
    '[Service]',
    'Type=exec',
    `ExecStart=/usr/lib/holdfast/domain-monitor ${seconds} ${tries}`,
    'Restart=on-failure',
    '',
    '[Install]',
    'WantedBy=multi-user.target',
  );
}
