import { fenceDevice } from '../../areas/cluster/fence-device.ts';
import { clusterSettings, clusterSettingsOf } from '../../areas/cluster/settings.ts';
import type { Subsystem } from '../../engine/declare/subsystem.ts';
import type { Pair } from '../../engine/pair/pair.ts';
import { lines } from '../../lib/text.ts';
import { constraintsXml, properties, resourcesXml } from './pacemaker.ts';

const unit = 'holdfast-pair';
const folder = '/etc/holdfast/pacemaker';

/** The resources of Pacemaker, on a machine of a pair whose cluster Holdfast has set up. */
export const clusterSubsystem = ({ pool, guid, links }: Pair): Subsystem => ({
  name: 'cluster',
  description: 'The resources, constraints and fence devices of a pair of machines in Pacemaker.',
  reads: [clusterSettings, fenceDevice],
  services: [unit],
  followsPool: true,
  render(view) {
    // An administrator who has set up the cluster cares for its resources too.
    if (Object.keys(links).length === 0) return {};
    const fences = view.all(fenceDevice);
    const { address } = clusterSettingsOf(view);
    return {
      files: [
        // With the passwords of the fence devices.
        { path: `${folder}/resources.xml`, content: resourcesXml({ pool, address, fences }), mode: 0o600 },
        { path: `${folder}/constraints.xml`, content: constraintsXml(fences) },
        { path: `${folder}/properties`, content: properties },
        { path: '/etc/nfs.conf.d/holdfast-pair.conf', content: nfsConf(guid) },
        { path: `/etc/systemd/system/${unit}.service`, content: unitFile, forServiceManager: true },
      ],
      owns: [`${folder}/`],
      services: [{ name: unit, running: true, onChange: 'restart' }],
    };
  },
});

/**
 * A client of NFSv4 that had files open may reclaim them after a switch within the grace time, and nobody opens a file
 * before it ends. It only does so if it finds the same server: without a scope, the server is named as the machine.
 */
const nfsConf = (guid: string) =>
  lines('# Written by Holdfast.', '[nfsd]', 'grace-time = 20', 'lease-time = 20', `scope = holdfast-${guid}`);

/** The program waits until the cluster has both machines, so that a pair that is being formed is not fenced. */
const unitFile = lines(
  '[Unit]',
  'Description=Resources of a pair of machines in Pacemaker',
  'After=pacemaker.service',
  '[Service]',
  'Type=exec',
  'RemainAfterExit=yes',
  `ExecStart=/usr/lib/holdfast/pair-resources ${folder}`,
  'Restart=on-failure',
  'RestartSec=5',
  '[Install]',
  'WantedBy=multi-user.target',
);
