import { ask, askRecord, askRefused } from '../expect.ts';
import { each, flag, integer, maybe, oneOf, text, texts } from '../kinds.ts';
import { type Area, type Body, collection, singleton, story } from '../resource.ts';
import type { World } from '../world.ts';

/** Makes what something else refers to, and answers its id. */
async function idOf(world: World, path: string, body: Body): Promise<unknown> {
  return (await askRecord(world, 201, 'POST', `services/iscsi/${path}/`, { id: integer }, body))['id'];
}

const newTarget = (world: World) => idOf(world, 'target', { iscsi_target_name: world.name('target') });
const newPortal = (world: World) =>
  idOf(world, 'portal', { iscsi_target_portal_ips: [`0.0.0.0:${20_000 + world.next()}`] });
const newInitiators = (world: World) =>
  idOf(world, 'authorizedinitiator', { iscsi_target_initiator_initiators: 'ALL' });
const newExtent = (world: World) => idOf(world, 'extent', fileExtent(world));

/** The tag of a new group of credentials, which may also be used both ways. */
async function newCredentials(world: World): Promise<number> {
  const tag = 100 + world.next();
  await idOf(world, 'authcredential', credential(tag));
  return tag;
}

function credential(tag: number): Body {
  return {
    iscsi_target_auth_tag: tag,
    iscsi_target_auth_user: `user${tag}`,
    // The document's samples are shorter than the 12 characters that CHAP wants.
    iscsi_target_auth_secret: 'secretsecret',
    iscsi_target_auth_peeruser: `peer${tag}`,
    iscsi_target_auth_peersecret: 'peerpeerpeer1',
  };
}

function fileExtent(world: World): Body {
  const name = world.name('extent');
  return {
    iscsi_target_extent_type: 'File',
    iscsi_target_extent_name: name,
    iscsi_target_extent_filesize: '10MB',
    iscsi_target_extent_path: world.folder(`iscsi/${name}`),
  };
}

const globalConfiguration = singleton('services/iscsi/globalconfiguration', {
  record: { iscsi_basename: text, iscsi_isns_servers: text, iscsi_pool_avail_threshold: maybe(integer) },
  change: () => ({ iscsi_basename: 'iqn.2011-03.org.example', iscsi_pool_avail_threshold: 10 }),
});

const extents = collection('services/iscsi/extent', {
  record: {
    ...each(
      text,
      'iscsi_target_extent_name',
      'iscsi_target_extent_path',
      'iscsi_target_extent_filesize',
      'iscsi_target_extent_comment',
    ),
    ...each(text, 'iscsi_target_extent_serial', 'iscsi_target_extent_naa'),
    iscsi_target_extent_type: oneOf('File', 'Disk', 'ZVOL'),
    ...each(
      flag,
      'iscsi_target_extent_insecure_tpc',
      'iscsi_target_extent_xen',
      'iscsi_target_extent_ro',
      'iscsi_target_extent_pblocksize',
    ),
    iscsi_target_extent_avail_threshold: maybe(integer),
    iscsi_target_extent_blocksize: integer,
    iscsi_target_extent_rpm: oneOf('Unknown', 'SSD', '5400', '7200', '10000', '15000'),
  },
  create: fileExtent,
  change: (world) => ({ iscsi_target_extent_name: world.name('renamed'), iscsi_target_extent_ro: true }),
  // 10MB is answered as it was sent or as bytes.
  respelt: ['iscsi_target_extent_filesize'],
  // What an extent is made of is tried by making one of each.
  choices: { told: ['iscsi_target_extent_type'] },
});

/** A zvol becomes an extent by its type Disk, and then says that it is a ZVOL. */
const zvolExtents = collection('services/iscsi/extent', {
  record: {
    iscsi_target_extent_type: oneOf('ZVOL'),
    iscsi_target_extent_path: text,
    iscsi_target_extent_filesize: oneOf('0'),
  },
  create: async (world) => {
    const name = world.name('zvol');
    await ask(world, 202, 'POST', `storage/volume/${world.target.volume}/zvols/`, {
      name,
      volsize: '10M',
      sparse: true,
    });
    return {
      iscsi_target_extent_type: 'Disk',
      iscsi_target_extent_name: name,
      iscsi_target_extent_disk: `zvol/${world.target.volume}/${name}`,
    };
  },
  respelt: ['iscsi_target_extent_type'],
  choices: { told: ['iscsi_target_extent_type', 'iscsi_target_extent_filesize'] },
});

/** A whole disk of the machine. */
const diskExtents = story('services/iscsi/extent', async (step, world) => {
  await step('iscsi_target_extent_type may be Disk', async () => {
    const disk = world.disk();
    const body = {
      iscsi_target_extent_type: 'Disk',
      iscsi_target_extent_name: world.name('disk'),
      iscsi_target_extent_disk: disk,
    };
    const { id } = await askRecord(
      world,
      201,
      'POST',
      'services/iscsi/extent/',
      { id: integer, iscsi_target_extent_type: oneOf('Disk') },
      body,
    );
    await ask(world, 204, 'DELETE', `services/iscsi/extent/${String(id)}/`);
    world.giveBack({ disks: [disk] });
  });
  await step('iscsi_target_extent_type may be nothing else', () =>
    askRefused(world, 'POST', 'services/iscsi/extent/', {
      ...fileExtent(world),
      iscsi_target_extent_type: 'none of them',
    }),
  );
});

const initiators = collection('services/iscsi/authorizedinitiator', {
  record: {
    ...each(
      text,
      'iscsi_target_initiator_initiators',
      'iscsi_target_initiator_auth_network',
      'iscsi_target_initiator_comment',
    ),
    iscsi_target_initiator_tag: integer,
  },
  create: () => ({ iscsi_target_initiator_initiators: 'ALL', iscsi_target_initiator_auth_network: 'ALL' }),
  change: () => ({ iscsi_target_initiator_auth_network: '192.0.2.0/24' }),
});

const credentials = collection('services/iscsi/authcredential', {
  record: {
    iscsi_target_auth_tag: integer,
    ...each(
      text,
      'iscsi_target_auth_user',
      'iscsi_target_auth_secret',
      'iscsi_target_auth_peeruser',
      'iscsi_target_auth_peersecret',
    ),
  },
  create: (world) => credential(100 + world.next()),
  change: (world) => ({ iscsi_target_auth_user: world.name('user') }),
});

const targets = collection('services/iscsi/target', {
  record: { iscsi_target_name: text, iscsi_target_alias: maybe(text) },
  create: (world) => ({ iscsi_target_name: world.name('target') }),
  change: (world) => ({ iscsi_target_name: world.name('target') }),
});

const targetGroups = collection('services/iscsi/targetgroup', {
  record: {
    iscsi_target: integer,
    iscsi_target_portalgroup: integer,
    ...each(maybe(integer), 'iscsi_target_initiatorgroup', 'iscsi_target_authgroup'),
    iscsi_target_initialdigest: text,
    iscsi_target_authtype: oneOf('None', 'CHAP', 'CHAP Mutual'),
  },
  create: async (world) => ({
    iscsi_target: await newTarget(world),
    iscsi_target_portalgroup: await newPortal(world),
    iscsi_target_initiatorgroup: await newInitiators(world),
    iscsi_target_authtype: 'None',
    iscsi_target_authgroup: null,
    iscsi_target_initialdigest: 'Auto',
  }),
  change: async (world) => ({ iscsi_target_initiatorgroup: await newInitiators(world) }),
  choices: {
    along: {
      iscsi_target_authtype: async (type, world) => ({
        iscsi_target_authgroup: type === 'None' ? null : await newCredentials(world),
      }),
    },
  },
});

const associations = collection('services/iscsi/targettoextent', {
  record: { iscsi_target: integer, iscsi_extent: integer, iscsi_lunid: maybe(integer) },
  create: async (world) => ({
    iscsi_target: await newTarget(world),
    iscsi_extent: await newExtent(world),
    iscsi_lunid: 3,
  }),
  change: async (world) => ({ iscsi_target: await newTarget(world), iscsi_extent: await newExtent(world) }),
});

const portals = collection('services/iscsi/portal', {
  record: {
    iscsi_target_portal_comment: text,
    iscsi_target_portal_ips: texts,
    iscsi_target_portal_discoveryauthmethod: oneOf('None', 'Auto', 'CHAP', 'CHAP Mutual'),
    iscsi_target_portal_discoveryauthgroup: maybe(integer),
    iscsi_target_portal_tag: integer,
  },
  create: (world) => ({ iscsi_target_portal_ips: [`0.0.0.0:${20_000 + world.next()}`] }),
  // A list that is not sent is emptied, so it is sent.
  change: (world) => ({
    iscsi_target_portal_comment: 'by the stairs',
    iscsi_target_portal_ips: [`0.0.0.0:${20_000 + world.next()}`],
  }),
  choices: {
    along: {
      iscsi_target_portal_discoveryauthmethod: async (method, world) => ({
        iscsi_target_portal_ips: [`0.0.0.0:${20_000 + world.next()}`],
        iscsi_target_portal_discoveryauthgroup: method === 'None' ? null : await newCredentials(world),
      }),
    },
  },
});

export const iscsiArea: Area = {
  name: 'services/iscsi',
  resources: [
    globalConfiguration,
    extents,
    zvolExtents,
    diskExtents,
    initiators,
    credentials,
    targets,
    targetGroups,
    associations,
    portals,
  ],
};
