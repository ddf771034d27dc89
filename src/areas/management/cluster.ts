import { invalid, missing, refused } from '../../engine/declare/errors.ts';
import { flag, integer, optional, refine, required, text } from '../../engine/declare/fields.ts';
import { type OperationCall, operation, section } from '../../engine/declare/operation.ts';
import { isSentOf } from '../../engine/declare/record.ts';
import type { View, World } from '../../engine/declare/resource.ts';
import {
  choiceOf,
  flagOf,
  integerOf,
  listOf,
  numberOf,
  objectOf,
  orNull,
  stringOf,
  timeOf,
} from '../../engine/declare/schema.ts';
import { isBaseUrl } from '../../engine/pair/pair.ts';
import { own } from '../../engine/plan/steps.ts';
import type { ClusterControl } from '../../engine/services.ts';
import { quote } from '../../lib/text.ts';
import { fingerprintOf } from '../certificates/own.ts';
import { type FenceDevice, fenceDevice, fenceFields } from '../cluster/fence-device.ts';
import { clusterFields, clusterSettings, clusterSettingsOf } from '../cluster/settings.ts';
import { refuseMove, shownCluster } from '../cluster/shown.ts';
import { endpointsOf } from '../system/settings.ts';
import { optionals, sentOf } from './rights.ts';

const answer = objectOf('Cluster', {
  pool: orNull(stringOf('The volume that the pair serves; null on a machine that stands alone.')),
  self: orNull(stringOf('Name of the machine that answers.')),
  holder: orNull(stringOf('Name of the machine that has the lease; null while the cluster does not answer.')),
  has_quorum: flagOf('Whether the machines that see each other may decide.'),
  maintenance: flagOf('Whether the cluster does nothing, whatever happens.'),
  name: stringOf('Name of the pair; empty without one.'),
  address: stringOf('Address that moves with the pool, with its prefix length; empty without one.'),
  nodes: listOf(
    objectOf('ClusterNode', {
      name: stringOf('Name of the machine.'),
      url: orNull(stringOf('Where it serves its interface; null for one that has only a vote.')),
      state: choiceOf(
        ['online', 'offline', 'unknown'],
        'Offline if it was shut down or ended, unknown if it is not seen.',
      ),
      version: orNull(stringOf('Its version of Holdfast; null if it has not said.')),
      host_id: orNull(stringOf('Its host id; null if it has not said.')),
      fence_devices: listOf(stringOf('A device in the cluster.'), 'The devices that can end it.'),
      last_fenced: orNull(timeOf('When one of them last ended it; null if that is not known.')),
      fence_failed: flagOf('Whether the last attempt failed.'),
    }),
    'The machines of the cluster.',
  ),
  vote: orNull({
    ...objectOf('ClusterVote', {
      host: stringOf('Address or host name of the machine whose corosync-qnetd has the vote.'),
      seen: flagOf('Whether each machine of the cluster that is online has its vote.'),
      given_to: listOf(stringOf('Name of a machine.'), 'The machines that have its vote.'),
    }),
    description: 'The third vote, of a machine without the disks; null without one.',
  }),
  last_switch: orNull({
    ...objectOf('ClusterSwitch', {
      from: orNull(stringOf('Machine that released the pool; null if it had failed.')),
      to: stringOf('Machine that took it.'),
      began: timeOf('When it began.'),
      served: timeOf('When the pool was served again.'),
      seconds: numberOf('Seconds between the two.'),
      steps: listOf(
        objectOf('ClusterStep', {
          title: stringOf('What was done.'),
          seconds: numberOf('Seconds that it took.'),
        }),
        'Its steps in their order.',
      ),
    }),
    description: 'How the pool came to this machine; null for the first one.',
  }),
});

const fenceAnswer = objectOf('FenceDevice', {
  id: integerOf('Id of the device.'),
  node: stringOf('Name of the machine that it ends.'),
  agent: stringOf('The fence agent.'),
  options: stringOf('Its options, one name=value in each line.'),
  outlet: stringOf('What the device calls the machine; empty for its name.'),
});

const params = { id: integer({ description: 'Id of the device.', min: 1 }) };
const password = text({ description: 'Password of the device, which is not shown again.', max: 256 });
const node = required(text({ description: 'Name of the machine.', max: 64 }));
const url = refine(
  text({
    description:
      'Base URL by which the other machine reaches this one; without it that of the pair. With https, the certificate of this machine is expected there.',
    max: 255,
  }),
  (value) => (isBaseUrl(value) ? undefined : `Expected a URL such as https://192.0.2.11, got ${quote(value)}.`),
);

export const cluster = section('cluster', 'A pair of machines on the same disks, of which one has the pool.', [
  operation({
    method: 'GET',
    path: 'cluster',
    name: 'getCluster',
    title: 'Shows the machines of the pair, which of them has the pool, and how it came there.',
    answer,
    async run(call) {
      // A machine that has just taken the pool looks at the cluster a little later, or when it is asked.
      if (call.cluster !== undefined && call.cluster.condition.state === undefined) await call.cluster.lookAtState();
      return shown(call);
    },
  }),
  operation({
    method: 'PUT',
    path: 'cluster',
    name: 'setCluster',
    title: 'Changes the name and the address of the pair. What is not sent stays.',
    body: optionals(clusterFields),
    answer,
    example: { body: { name: 'storage', address: '192.0.2.10/24' } },
    async run(call) {
      controlOf(call);
      const sent = sentOf(call.body);
      if (!isSentOf(clusterSettings.fields, sent)) throw new TypeError('a value of the request belongs to no field');
      await call.operations.onlyChange('change the settings of the pair', (draft) => {
        const [present] = draft.all(clusterSettings);
        if (present === undefined) draft.create(clusterSettings, sent);
        else draft.update(clusterSettings, present.id, sent);
      });
      return shown(call);
    },
  }),
  operation({
    method: 'POST',
    path: 'cluster/switch',
    name: 'switchCluster',
    alone: 'This machine answers no more when the cluster has the order.',
    title: 'Moves the pool to the other machine. The cluster gets the order from a job, after the answer.',
    body: { to: node },
    status: 202,
    answer: 'nothing',
    example: { body: { to: 'beta' } },
    async run(call) {
      const control = controlOf(call);
      const { to } = call.body;
      await control.lookAtState();
      refuseMove(control, to);
      const title = `move the pool to ${to}`;
      // The cluster takes the address away at once when it has the order. An answer after that would not arrive.
      call.operations.background({
        title,
        subject: 'holdfast/cluster',
        alone: true,
        async run(work) {
          await work.step(own(title, () => control.move(to)));
          return {};
        },
      });
    },
  }),
  operation({
    method: 'POST',
    path: 'cluster/maintenance',
    name: 'setClusterMaintenance',
    alone: 'It is kept by the cluster, not by the configuration.',
    title: 'Has the cluster do nothing, whatever happens, or care for the pair again.',
    body: { enabled: required(flag(true, { description: 'Whether the cluster does nothing.' })) },
    answer,
    example: { body: { enabled: true } },
    async run(call) {
      const control = controlOf(call);
      const { enabled } = call.body;
      const title = enabled ? 'begin the maintenance of the cluster' : 'end the maintenance of the cluster';
      await call.operations.perform(own(title, () => control.maintain(enabled)));
      await control.look();
      return shown(call);
    },
  }),
  operation({
    method: 'POST',
    path: 'cluster/fence',
    name: 'fenceNode',
    alone: 'It switches a machine off.',
    title: 'Ends the other machine by its fence device, which restarts it, to prove that this works.',
    body: { node },
    answer,
    example: { body: { node: 'beta' } },
    async run(call) {
      const control = controlOf(call);
      const { node: named } = call.body;
      refuseOwn(control, named);
      await call.operations.perform(own(`end ${named} by its fence device`, () => control.fence(named)));
      await control.look();
      return shown(call);
    },
  }),
  operation({
    method: 'POST',
    path: 'cluster/tokens',
    name: 'createClusterToken',
    alone: 'The token is no part of the configuration.',
    title: 'Issues a token by which the other machine joins the pair: holdfast ha join. It is accepted once.',
    body: { url: optional(url) },
    status: 201,
    answer: objectOf('ClusterToken', {
      token: stringOf(
        'The token. Anyone who has it can fetch the secret key of the pair, until it was used or expires.',
      ),
      until: timeOf('When it expires.'),
    }),
    example: { body: { url: 'http://192.0.2.11:8080' } },
    async run(call) {
      const { joining, pair } = controlOf(call);
      const { world } = call.operations;
      const base = (call.body.url ?? pair.nodes[pair.self] ?? '').replace(/\/+$/, '');
      const fingerprint = base.startsWith('https:') ? fingerprintServed(world.view) : undefined;
      return call.operations.perform(
        own('issue a token for the other machine', async () => joining.issueToken(base, fingerprint)),
      );
    },
  }),
  operation({
    method: 'POST',
    path: 'cluster/join',
    name: 'joinCluster',
    alone: 'The other machine of the pair sends it.',
    title:
      'Gives the other machine of the pair what it needs, encrypted. It is sent by holdfast ha join, with a token from POST cluster/tokens.',
    body: { node },
    answer: objectOf('ClusterJoin', {
      sealed: stringOf('What the other machine needs, encrypted with a key that follows from the token.'),
    }),
    example: { body: { node: 'beta' } },
    async run(call) {
      const control = controlOf(call);
      const { node: named } = call.body;
      refuseUnknown(control, named);
      if (named === control.pair.self) throw invalid({ node: [`${named} is the machine that issued the token.`] });
      const { joining } = control;
      const sealed = await call.operations.perform(
        own(`give ${named} what it needs for the pair`, () => joining.admit(call.context.credential)),
      );
      if (sealed === undefined) throw refused('Expected a token of POST cluster/tokens as the credential.');
      return { sealed };
    },
  }),
  operation({
    method: 'GET',
    path: 'cluster/fences',
    name: 'listFenceDevices',
    title: 'Lists the devices that end a machine of the pair that does not answer.',
    answer: listOf(fenceAnswer),
    list: { key: ['id'] },
    run: ({ operations: { world } }) => world.view.all(fenceDevice).map(shownDevice),
  }),
  operation({
    method: 'POST',
    path: 'cluster/fences',
    name: 'createFenceDevice',
    title: 'Adds a fence device. Its agent has to be installed on both machines.',
    body: { ...fenceFields, password },
    status: 201,
    answer: fenceAnswer,
    example: { body: { node: 'beta', agent: 'fence_ipmilan', options: 'ip=192.0.2.22\nusername=fence' } },
    async run(call) {
      const { password: secret, ...sent } = call.body;
      refuseUnknown(controlOf(call), sent.node);
      const id = await call.operations.onlyChange(
        `add a fence device for ${sent.node}`,
        (draft) => draft.create(fenceDevice, sent, { password: secret }).id,
      );
      return shownDevice(found(call.operations.world, id));
    },
  }),
  operation({
    method: 'PUT',
    path: 'cluster/fences/{id}',
    name: 'updateFenceDevice',
    title: 'Changes a fence device. What is not sent stays.',
    params,
    body: { ...optionals(fenceFields), password: optional(password) },
    answer: fenceAnswer,
    example: { body: { options: 'ip=192.0.2.23' } },
    async run(call) {
      const { id } = found(call.operations.world, call.params.id);
      const { password: secret, ...rest } = call.body;
      const sent = sentOf(rest);
      if (!isSentOf(fenceDevice.fields, sent)) throw new TypeError('a value of the request belongs to no field');
      if (sent.node !== undefined) refuseUnknown(controlOf(call), sent.node);
      await call.operations.onlyChange(`change the fence device ${id}`, (draft) => {
        draft.update(fenceDevice, id, sent, secret === undefined ? {} : { password: secret });
      });
      return shownDevice(found(call.operations.world, id));
    },
  }),
  operation({
    method: 'DELETE',
    path: 'cluster/fences/{id}',
    name: 'removeFenceDevice',
    title: 'Removes a fence device.',
    params,
    status: 204,
    answer: 'nothing',
    async run({ operations, params: { id } }) {
      found(operations.world, id);
      await operations.onlyChange(`remove the fence device ${id}`, (draft) => draft.remove(fenceDevice, id));
    },
  }),
]);

type Call = Pick<OperationCall, 'operations' | 'cluster'>;

function controlOf({ cluster: control }: Pick<Call, 'cluster'>): NonNullable<Call['cluster']> {
  if (control === undefined)
    throw refused('This machine is not part of a pair. To make one, run: holdfast ha form (docs/pair.md).');
  return control;
}

function found({ view }: World, id: number): FenceDevice {
  const device = view.get(fenceDevice, id);
  if (device === undefined) throw missing(`There is no fence device ${id}.`);
  return device;
}

function refuseUnknown({ pair: { nodes } }: ClusterControl, name: string): void {
  if (!Object.hasOwn(nodes, name))
    throw invalid({ node: [`Expected ${Object.keys(nodes).join(' or ')}, got "${name}".`] });
}

/** The fingerprint of the certificate that this machine shows. */
function fingerprintServed(view: View): string {
  const chain = endpointsOf(view).find(({ tls }) => tls !== undefined)?.tls?.chain;
  if (chain === undefined)
    throw invalid({
      url: [
        'This machine does not serve HTTPS itself, so that the other one would not know which certificate to expect. Send a URL that begins with http://: what the token gives is encrypted.',
      ],
    });
  return fingerprintOf(chain);
}

function refuseOwn(control: ClusterControl, name: string): void {
  refuseUnknown(control, name);
  if (name === control.pair.self)
    throw invalid({ node: [`${name} has the pool. Move it to the other machine first: POST cluster/switch.`] });
}

const shownDevice = ({ id, node: of, agent, options, outlet }: FenceDevice) => ({
  ...{ id, node: of, agent, options, outlet },
});

function shown({ operations, cluster: control }: Call) {
  return shownCluster(control, clusterSettingsOf(operations.world.view));
}
