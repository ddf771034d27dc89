import { ask, askList, askRecord, askText, ensure } from './expect.ts';
import { integer } from './kinds.ts';
import type { Body } from './resource.ts';
import type { World } from './world.ts';

/** Things that more than one area needs. */

/** What certificates and authorities are asked for with. */
export function subject(name: string): Body {
  return {
    cert_name: name,
    cert_common: `${name}.example.com`,
    cert_city: 'Nashville',
    cert_state: 'Tennessee',
    cert_country: 'US',
    cert_email: 'admin@example.com',
    cert_organization: 'Example',
    cert_digest_algorithm: 'SHA256',
    cert_lifetime: 3650,
    // The shortest of the document, for it takes the least time.
    cert_key_length: 1024,
  };
}

/** Makes an authority by the action that is named, and answers its record. */
export function newAuthority(world: World, more: Body = {}, how = 'internal'): Promise<Body> {
  return madeBy(world, 'system/certificateauthority', how, 'Certificate Authority created.', {
    ...subject(world.name('authority')),
    ...more,
  });
}

/** An action answers a sentence; the record is the one in the list that has the name. */
export async function madeBy(world: World, path: string, how: string, sentence: string, body: Body): Promise<Body> {
  await askText(world, 201, 'POST', `${path}/${how}/`, sentence, body);
  const record = (await askList(world, path, '?limit=0')).find(({ cert_name }) => cert_name === body['cert_name']);
  ensure(record !== undefined, 'it is not in the list');
  return record;
}

/** A file on the volume that may be run: the document makes none but those that extents lie in. */
export async function newFile(world: World): Promise<string> {
  const name = world.name('file');
  const iscsi_target_extent_path = world.folder(`files/${name}`);
  const extent = {
    iscsi_target_extent_type: 'File',
    iscsi_target_extent_name: name,
    iscsi_target_extent_path,
    iscsi_target_extent_filesize: '4096',
  };
  const { id } = await askRecord(world, 201, 'POST', 'services/iscsi/extent/', { id: integer }, extent);
  await ask(world, 204, 'DELETE', `services/iscsi/extent/${String(id)}/`);
  const permission = {
    mp_path: world.folder('files'),
    mp_acl: 'unix',
    mp_mode: '755',
    mp_user: 'root',
    mp_group: 'wheel',
    mp_recursive: true,
  };
  await ask(world, 201, 'PUT', 'storage/permission/', permission);
  return iscsi_target_extent_path;
}
