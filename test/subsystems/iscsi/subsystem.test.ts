import assert from 'node:assert/strict';
import { test } from 'node:test';
import { iscsiCredential } from '../../../src/areas/services/iscsi/authcredential.ts';
import { iscsiExtent } from '../../../src/areas/services/iscsi/extent.ts';
import { iscsiPortal } from '../../../src/areas/services/iscsi/portal.ts';
import { iscsiTarget } from '../../../src/areas/services/iscsi/target.ts';
import { iscsiTargetGroup } from '../../../src/areas/services/iscsi/targetgroup.ts';
import { iscsiTargetToExtent } from '../../../src/areas/services/iscsi/targettoextent.ts';
import type { LayeredDraft } from '../../../src/engine/configuration/draft.ts';
import type { Facts } from '../../../src/engine/facts/facts.ts';
import { iscsiSubsystem } from '../../../src/subsystems/iscsi/subsystem.ts';
import { freshConfiguration, machine, switchOn } from '../support/configuration.ts';

function made(
  draft: LayeredDraft,
  n: number,
  volume = 'tank',
): { extent: number; target: number; group: number; association: number } {
  const extent = draft.create(iscsiExtent, {
    iscsi_target_extent_name: `e${n}`,
    iscsi_target_extent_type: 'File',
    iscsi_target_extent_path: `/mnt/${volume}/e${n}`,
    iscsi_target_extent_filesize: '1MB',
  }).id;
  const target = draft.create(iscsiTarget, { iscsi_target_name: `t${n}` }).id;
  const group = draft.create(iscsiTargetGroup, { iscsi_target: target, iscsi_target_portalgroup: 1 }).id;
  const association = draft.create(iscsiTargetToExtent, { iscsi_target: target, iscsi_extent: extent }).id;
  return { extent, target, group, association };
}

function served(count: number): LayeredDraft {
  const draft = freshConfiguration();
  switchOn(draft, 'iscsitarget');
  draft.create(iscsiPortal, { iscsi_target_portal_ips: ['0.0.0.0:3260'] });
  for (let n = 1; n <= count; n += 1) made(draft, n);
  return draft;
}

/** The same as it is made of the whole configuration at once: after another one, all is different. */
function fullRebuild(draft: LayeredDraft, facts: Facts) {
  iscsiSubsystem.render(served(0), facts);
  return iscsiSubsystem.render(draft, facts);
}

test('an incremental rebuild equals a full one', () => {
  const draft = served(200);
  const before = {
    ...machine.storage,
    datasets: new Map([...machine.storage.datasets].filter(([name]) => name !== 'tank')),
  };
  let facts = machine;
  const changes: readonly (() => unknown)[] = [
    () => undefined,
    () => made(draft, 201),
    () => draft.update(iscsiTarget, 70, { iscsi_target_name: 'renamed' }),
    () => draft.remove(iscsiTargetToExtent, 71),
    () => draft.remove(iscsiTarget, 72),
    () => draft.remove(iscsiExtent, 73),
    () =>
      draft.create(iscsiCredential, {
        iscsi_target_auth_tag: 3,
        iscsi_target_auth_user: 'joe',
        iscsi_target_auth_secret: 'secretsecret12',
      }),
    () => draft.update(iscsiTargetGroup, 5, { iscsi_target_authtype: 'CHAP', iscsi_target_authgroup: 3 }),
    () => draft.update(iscsiCredential, 1, { iscsi_target_auth_secret: 'secretsecret34' }),
    () => draft.remove(iscsiCredential, 1),
    () => draft.update(iscsiPortal, 1, { iscsi_target_portal_ips: ['0.0.0.0:3261'] }),
    () => {
      facts = { ...machine, storage: before };
    },
    () => {
      facts = machine;
    },
    () => draft.update(iscsiExtent, 9, { iscsi_target_extent_ro: true }),
  ];
  for (const [index, change] of changes.entries()) {
    change();
    const inPart = iscsiSubsystem.render(draft, facts);
    assert.deepEqual(inPart, fullRebuild(draft, facts), `change ${index}`);
    iscsiSubsystem.render(draft, facts);
  }
});

test('unchanged parts keep their identity', () => {
  const draft = served(200);
  const { targets: before } = iscsiSubsystem.render(draft, machine);
  made(draft, 201);
  const { targets: after } = iscsiSubsystem.render(draft, machine);
  assert.equal(after?.targets.length, 201);
  assert.ok(before?.targets.every((one, index) => one === after?.targets[index]));
  assert.ok(before?.extents.every((one, index) => one === after?.extents[index]));
});

test('tgt runs only as the engine and while the service is on', () => {
  const running = (engine: Facts['targets']['engine'], draft: LayeredDraft) =>
    iscsiSubsystem
      .render(draft, { ...machine, targets: { engine, serving: false, firstLun: 0 } })
      .services?.find(({ name }) => name === 'tgt')?.running;
  assert.deepEqual(
    [running('tgt', served(0)), running('lio', served(0)), running('tgt', freshConfiguration())],
    [true, false, false],
  );
});
