import { type FenceDevice, optionsOf } from '../../areas/cluster/fence-device.ts';
import { lines } from '../../lib/text.ts';
import { type Element, element, xmlText } from '../../lib/xml.ts';

/** Seconds that Pacemaker grants. A pool of many datasets takes long to import; a service that hangs is fenced. */
const seconds = { take: 300, release: 120, look: 20, fence: 60 } as const;

interface Resources {
  readonly pool: string;
  readonly address: string;
  readonly fences: readonly FenceDevice[];
}

/** What the cluster cares for: the appliance with its address, and the devices that end its machines. */
export function resourcesXml({ pool, address, fences }: Resources): string {
  const group = element(
    'group',
    { id: 'holdfast' },
    element(
      'meta_attributes',
      { id: 'holdfast-meta' },
      // The pool stays where it is when a machine comes back, and its holder is the one that survives a cut cable.
      ...nvpairs('holdfast-meta', [
        ['resource-stickiness', '1000'],
        ['priority', '10'],
        ['failure-timeout', '10min'],
      ]),
    ),
    resource({ id: 'holdfast-appliance', class: 'ocf', provider: 'holdfast', type: 'appliance' }, [['pool', pool]], {
      start: seconds.take,
      stop: seconds.release,
      monitor: seconds.look,
    }),
    address === ''
      ? undefined
      : resource(
          { id: 'holdfast-address', class: 'ocf', provider: 'holdfast', type: 'address' },
          [['address', address]],
          {
            start: seconds.look,
            stop: seconds.look,
            monitor: seconds.look,
          },
        ),
  );
  return xmlText(element('resources', {}, group, ...fences.map(fenceResource)));
}

function fenceResource(device: FenceDevice): Element {
  const { agent, node, outlet, password } = device;
  return resource(
    { id: fenceId(device), class: 'stonith', type: agent },
    [
      ...optionsOf(device),
      ...(password === '' ? [] : ([['password', password]] as const)),
      outlet === '' ? ['pcmk_host_list', node] : ['pcmk_host_map', `${node}:${outlet}`],
    ],
    { monitor: seconds.fence },
    // One that could not be reached for a while is tried again.
    [['failure-timeout', '2min']],
  );
}

const fenceId = ({ id }: FenceDevice) => `holdfast-fence-${id}`;

/** A machine does not run the device that ends it: it could not end itself, and would hide that the device fails. */
export function constraintsXml(fences: readonly FenceDevice[]): string {
  return xmlText(
    element(
      'constraints',
      {},
      ...fences.map((device) =>
        element('rsc_location', {
          ...{ id: `${fenceId(device)}-elsewhere`, rsc: fenceId(device) },
          ...{ node: device.node, score: '-INFINITY' },
        }),
      ),
    ),
  );
}

/**
 * Properties of the cluster, one name and value in each line. When the machines do not see each other, the one without
 * the pool waits before it ends the other one, so that only one of them ends. A machine that takes the pool is busy with
 * that, so that its load is no reason to have the address wait for the monitor.
 */
export const properties = lines(
  'stonith-enabled true',
  'no-quorum-policy stop',
  'priority-fencing-delay 4s',
  'cluster-recheck-interval 1min',
  'load-threshold 1000%',
);

type Pairs = readonly (readonly [string, string])[];

function resource(
  identity: Readonly<Record<string, string>> & { readonly id: string },
  parameters: Pairs,
  operations: Readonly<Record<string, number>>,
  meta: Pairs = [],
): Element {
  const { id } = identity;
  return element(
    'primitive',
    identity,
    meta.length === 0 ? undefined : element('meta_attributes', { id: `${id}-meta` }, ...nvpairs(`${id}-meta`, meta)),
    element('instance_attributes', { id: `${id}-parameters` }, ...nvpairs(`${id}-parameters`, parameters)),
    element(
      'operations',
      {},
      ...Object.entries(operations).map(([name, timeout]) =>
        element('op', {
          ...{ id: `${id}-${name}`, name, timeout: `${timeout}s` },
          interval: name === 'monitor' ? (identity['class'] === 'stonith' ? '30s' : '5s') : '0s',
        }),
      ),
    ),
  );
}

function nvpairs(id: string, pairs: Pairs): readonly Element[] {
  return pairs.map(([name, value]) => element('nvpair', { id: `${id}-${name}`, name, value }));
}
