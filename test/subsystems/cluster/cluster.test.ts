import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FenceDevice } from '../../../src/areas/cluster/fence-device.ts';
import { lines } from '../../../src/lib/text.ts';
import { constraintsXml, properties, resourcesXml } from '../../../src/subsystems/cluster/pacemaker.ts';

const alphaFence: FenceDevice = {
  ...{ id: 1, node: 'alpha', agent: 'fence_ipmilan', outlet: '', password: '"<a&b>"' },
  options: 'ip=192.0.2.21\nusername=fence',
};
const betaFence: FenceDevice = {
  ...{ id: 2, node: 'beta', agent: 'fence_apc', outlet: '7', password: '', options: '' },
};

test('the cluster cares for the pool with its address, and for the devices with their options', () => {
  assert.equal(
    resourcesXml({ pool: 'tank', address: '192.0.2.10/24', fences: [alphaFence, betaFence] }),
    lines(
      '<resources>',
      '  <group id="holdfast">',
      '    <meta_attributes id="holdfast-meta">',
      '      <nvpair id="holdfast-meta-resource-stickiness" name="resource-stickiness" value="1000"/>',
      '      <nvpair id="holdfast-meta-priority" name="priority" value="10"/>',
      '      <nvpair id="holdfast-meta-failure-timeout" name="failure-timeout" value="10min"/>',
      '    </meta_attributes>',
      '    <primitive id="holdfast-appliance" class="ocf" provider="holdfast" type="appliance">',
      '      <instance_attributes id="holdfast-appliance-parameters">',
      '        <nvpair id="holdfast-appliance-parameters-pool" name="pool" value="tank"/>',
      '      </instance_attributes>',
      '      <operations>',
      '        <op id="holdfast-appliance-start" name="start" timeout="300s" interval="0s"/>',
      '        <op id="holdfast-appliance-stop" name="stop" timeout="120s" interval="0s"/>',
      '        <op id="holdfast-appliance-monitor" name="monitor" timeout="20s" interval="5s"/>',
      '      </operations>',
      '    </primitive>',
      '    <primitive id="holdfast-address" class="ocf" provider="holdfast" type="address">',
      '      <instance_attributes id="holdfast-address-parameters">',
      '        <nvpair id="holdfast-address-parameters-address" name="address" value="192.0.2.10/24"/>',
      '      </instance_attributes>',
      '      <operations>',
      '        <op id="holdfast-address-start" name="start" timeout="20s" interval="0s"/>',
      '        <op id="holdfast-address-stop" name="stop" timeout="20s" interval="0s"/>',
      '        <op id="holdfast-address-monitor" name="monitor" timeout="20s" interval="5s"/>',
      '      </operations>',
      '    </primitive>',
      '  </group>',
      '  <primitive id="holdfast-fence-1" class="stonith" type="fence_ipmilan">',
      '    <meta_attributes id="holdfast-fence-1-meta">',
      '      <nvpair id="holdfast-fence-1-meta-failure-timeout" name="failure-timeout" value="2min"/>',
      '    </meta_attributes>',
      '    <instance_attributes id="holdfast-fence-1-parameters">',
      '      <nvpair id="holdfast-fence-1-parameters-ip" name="ip" value="192.0.2.21"/>',
      '      <nvpair id="holdfast-fence-1-parameters-username" name="username" value="fence"/>',
      '      <nvpair id="holdfast-fence-1-parameters-password" name="password" value="&quot;&lt;a&amp;b&gt;&quot;"/>',
      '      <nvpair id="holdfast-fence-1-parameters-pcmk_host_list" name="pcmk_host_list" value="alpha"/>',
      '    </instance_attributes>',
      '    <operations>',
      '      <op id="holdfast-fence-1-monitor" name="monitor" timeout="60s" interval="30s"/>',
      '    </operations>',
      '  </primitive>',
      '  <primitive id="holdfast-fence-2" class="stonith" type="fence_apc">',
      '    <meta_attributes id="holdfast-fence-2-meta">',
      '      <nvpair id="holdfast-fence-2-meta-failure-timeout" name="failure-timeout" value="2min"/>',
      '    </meta_attributes>',
      '    <instance_attributes id="holdfast-fence-2-parameters">',
      '      <nvpair id="holdfast-fence-2-parameters-pcmk_host_map" name="pcmk_host_map" value="beta:7"/>',
      '    </instance_attributes>',
      '    <operations>',
      '      <op id="holdfast-fence-2-monitor" name="monitor" timeout="60s" interval="30s"/>',
      '    </operations>',
      '  </primitive>',
      '</resources>',
    ),
  );
});

test('without an address and devices there is the pool only', () => {
  const text = resourcesXml({ pool: 'tank', address: '', fences: [] });
  assert.deepEqual(
    [...text.matchAll(/<primitive id="([^"]*)"/g)].map(([, id]) => id),
    ['holdfast-appliance'],
  );
  assert.equal(constraintsXml([]), '<constraints/>\n');
});

test('no machine runs the device that ends it, and nothing is taken without a fence', () => {
  assert.equal(
    constraintsXml([alphaFence]),
    lines(
      '<constraints>',
      '  <rsc_location id="holdfast-fence-1-elsewhere" rsc="holdfast-fence-1" node="alpha" score="-INFINITY"/>',
      '</constraints>',
    ),
  );
  assert.match(properties, /^stonith-enabled true$/m);
  assert.match(properties, /^no-quorum-policy stop$/m);
  assert.match(properties, /^load-threshold 1000%$/m);
});
