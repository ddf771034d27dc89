import { exampleCertificate, exampleKey } from '../../test/support/certificates.ts';
import { ask, askList, askRecord, askRefused, askText, ensure, recordIn } from '../expect.ts';
import { each, either, flag, integer, maybe, oneOf, oneOfOrUnset, text } from '../kinds.ts';
import { madeBy, newAuthority, subject } from '../makers.ts';
import { type Area, type Body, collection, type Step, singleton, story } from '../resource.ts';
import { listed } from '../walk.ts';
import type { World } from '../world.ts';

const version = story('system/version', async (step, world) => {
  await step('is read', () =>
    askRecord(world, 200, 'GET', 'system/version/', each(text, 'fullversion', 'name', 'version')),
  );
});

const updates = story('system/update', async (step, world) => {
  await step('is looked for', async () => {
    for (const pending of await askList(world, 'system/update/check'))
      recordIn(pending, each(text, 'operation', 'name'), 'an update');
  });
  if (world.target.disturb)
    await step('is done', () => askText(world, 200, 'POST', 'system/update/update/', 'Successfully updated.'));
});

const debug = story('system/debug', async (step, world) => {
  await step('answers where its archive is', () => askRecord(world, 200, 'POST', 'system/debug/', { url: text }));
});

const advanced = singleton('system/advanced', {
  record: {
    ...each(
      flag,
      'adv_consolemenu',
      'adv_serialconsole',
      'adv_powerdaemon',
      'adv_consolemsg',
      'adv_traceback',
      'adv_uploadcrash',
      'adv_advancedmode',
      'adv_autotune',
    ),
    ...each(flag, 'adv_debugkernel', 'adv_anonstats'),
    adv_serialport: oneOf('0x2f8', '0x3f8'),
    adv_serialspeed: oneOf('9600', '19200', '38400', '57600', '115200'),
    adv_swapondrive: integer,
    ...each(text, 'adv_motd', 'adv_anonstats_token'),
  },
  change: () => ({ adv_motd: 'Welcome to the lab', adv_powerdaemon: true, adv_advancedmode: true }),
});

/** Alerts come by themselves: here from a certificate that uses SHA1. */
const alerts = story('system/alert', async (step, world) => {
  const shape = { id: text, level: text, message: text, dismissed: flag };
  const cause = await step('has a cause', () => newAuthority(world, { cert_digest_algorithm: 'SHA1' }));
  await listed('system/alert', (record) => String(record['id']), shape, step, world);
  await step('is dismissed by a GET, and stays', async () => {
    const [alert] = await askList(world, 'system/alert');
    ensure(alert !== undefined, 'there is none');
    const at = `system/alert/${encodeURIComponent(String(alert['id']))}`;
    const answer = await ask(world, 202, 'GET', `${at}/dismiss/`);
    ensure(answer.text === '', `it answers ${answer.text}`);
    const after = (await askList(world, 'system/alert', '?limit=0')).find(({ id }) => id === alert['id']);
    ensure(after?.['dismissed'] === true, 'it is not dismissed');
  });
  await removed(step, world, 'system/certificateauthority', [cause]);
});

const bootEnvironments = story('system/bootenv', async (step, world) => {
  const shape = each(text, 'id', 'name', 'active', 'created', 'space');
  const [first, second, renamed] = [world.name('env'), world.name('env'), world.name('env')];
  await step('is created', async () => {
    const running = (await askList(world, 'system/bootenv', '?limit=0')).find(({ active }) =>
      String(active).includes('N'),
    );
    for (const name of [first, second]) {
      const { id } = await askRecord(world, 201, 'POST', 'system/bootenv/', shape, { name, source: running?.['name'] });
      ensure(id === name, `it is called ${String(id)}`);
    }
  });
  await listed('system/bootenv', (record) => String(record['id']), shape, step, world);
  await step('is renamed', async () => {
    await askText(world, 202, 'POST', `system/bootenv/rename/${first}/`, 'Boot Environment has been renamed.', {
      name: renamed,
    });
    await askRecord(world, 200, 'GET', `system/bootenv/${renamed}/`, shape);
  });
  await step('is removed', async () => {
    for (const name of [renamed, second]) await ask(world, 204, 'DELETE', `system/bootenv/${name}/`);
  });
});

const email = singleton('system/email', {
  record: {
    ...each(text, 'em_fromemail', 'em_outgoingserver'),
    em_port: integer,
    em_smtp: flag,
    em_security: oneOf('plain', 'ssl', 'tls'),
    ...each(maybe(text), 'em_user', 'em_pass'),
  },
  change: () => ({ em_fromemail: 'nas@example.com', em_outgoingserver: 'mail.example.com', em_port: 587 }),
});

const ntpServers = collection('system/ntpserver', {
  record: {
    ntp_address: text,
    ...each(integer, 'ntp_minpoll', 'ntp_maxpoll'),
    ...each(flag, 'ntp_prefer', 'ntp_burst', 'ntp_iburst'),
  },
  create: (world) => ({ ntp_address: `${world.name('ntp')}.example.com`, force: true }),
  change: () => ({ ntp_prefer: true, ntp_maxpoll: 12, force: true }),
});

const settings = singleton('system/settings', {
  record: {
    stg_guiprotocol: oneOf('http', 'https'),
    stg_guicertificate: maybe(integer),
    ...each(
      text,
      'stg_guiaddress',
      'stg_guiv6address',
      'stg_language',
      'stg_kbdmap',
      'stg_timezone',
      'stg_syslogserver',
    ),
    stg_directoryservice: oneOfOrUnset('activedirectory', 'ldap', 'nt4', 'nis'),
    ...each(integer, 'stg_guiport', 'stg_guihttpsport'),
    stg_guihttpsredirect: flag,
  },
  change: () => ({ stg_timezone: 'Europe/Berlin', stg_language: 'de', stg_kbdmap: 'de' }),
  // HTTPS alone can cut off who asks for it, so it is tried by itself.
  choices: { told: ['stg_guiprotocol'] },
});

const protocols = story('system/settings', async (step, world) => {
  const shape = { stg_guiprotocol: oneOf('http', 'https') };
  await step('stg_guiprotocol may be http', () =>
    askRecord(world, 200, 'PUT', 'system/settings/', shape, { stg_guiprotocol: 'http' }),
  );
  if (world.target.disturb)
    await step('stg_guiprotocol may be https', async () => {
      const authority = await newAuthority(world);
      const { id } = await madeBy(world, 'system/certificate', 'internal', 'Certificate created.', {
        ...subject(world.name('web')),
        cert_key_length: 2048,
        cert_signedby: authority['id'],
      });
      await askRecord(world, 200, 'PUT', 'system/settings/', shape, {
        stg_guiprotocol: 'https',
        stg_guicertificate: id,
      });
      await askRecord(world, 200, 'PUT', 'system/settings/', shape, { stg_guiprotocol: 'http' });
    });
  await step('stg_guiprotocol may be nothing else', () =>
    askRefused(world, 'PUT', 'system/settings/', { stg_guiprotocol: 'none of them' }),
  );
});

const authorityShape = {
  id: integer,
  ...each(text, 'cert_name', 'cert_certificate', 'cert_DN', 'cert_from', 'cert_until', 'cert_issuer', 'cert_internal'),
  ...each(
    maybe(text),
    'cert_common',
    'cert_city',
    'cert_state',
    'cert_country',
    'cert_email',
    'cert_organization',
    'cert_privatekey',
    'cert_CSR',
  ),
  cert_digest_algorithm: oneOf('SHA1', 'SHA224', 'SHA256', 'SHA384', 'SHA512'),
  ...each(integer, 'cert_key_length', 'cert_type', 'cert_ncertificates'),
  cert_lifetime: maybe(integer),
  // One that is too great for a number is answered as its digits.
  cert_serial: maybe(either(integer, text)),
  ...each(flag, 'cert_chain', 'CA_type_existing', 'CA_type_intermediate', 'CA_type_internal'),
};

async function removed(step: Step, world: World, path: string, records: readonly (Body | undefined)[]): Promise<void> {
  await step('is removed', async () => {
    for (const record of records)
      if (record !== undefined) await ask(world, 204, 'DELETE', `${path}/${String(record['id'])}/`);
  });
}

/** The members of the closed lists, each in a request of its own. */
async function subjects(step: Step, world: World, path: string, sentence: string, more: Body): Promise<void> {
  const lists = {
    cert_digest_algorithm: ['SHA1', 'SHA224', 'SHA256', 'SHA384', 'SHA512'],
    cert_key_length: [1024, 2048, 4096],
  };
  for (const [field, members] of Object.entries(lists)) {
    for (const member of members)
      await step(`${field} may be ${member}`, async () => {
        const record = await madeBy(world, path, 'internal', sentence, {
          ...subject(world.name('chosen')),
          ...more,
          [field]: member,
        });
        ensure(record[field] === member, `it is ${String(record[field])}`);
        await ask(world, 204, 'DELETE', `${path}/${String(record['id'])}/`);
      });
    await step(`${field} may be nothing else`, () =>
      askRefused(world, 'POST', `${path}/internal/`, { ...subject(world.name('chosen')), ...more, [field]: 1000 }),
    );
  }
}

const authorities = story('system/certificateauthority', async (step, world) => {
  const path = 'system/certificateauthority';
  const own = await step('internal makes one', () => newAuthority(world));
  const below = await step('intermediate makes one', () =>
    newAuthority(world, { cert_signedby: own?.['id'] }, 'intermediate'),
  );
  const imported = await step('import takes one', () =>
    madeBy(world, path, 'import', 'Certificate Authority imported.', {
      cert_name: world.name('imported'),
      cert_certificate: exampleCertificate,
      cert_privatekey: exampleKey,
      cert_serial: 1,
    }),
  );
  await listed(path, (record) => String(record['id']), authorityShape, step, world);
  await step('says which kind it is', () => {
    const kinds = [own, below, imported].map((one) =>
      ['CA_type_internal', 'CA_type_intermediate', 'CA_type_existing'].find((name) => one?.[name] === true),
    );
    ensure(kinds.join(' ') === 'CA_type_internal CA_type_intermediate CA_type_existing', kinds.join(' '));
    return Promise.resolve();
  });
  await subjects(step, world, path, 'Certificate Authority created.', {});
  await removed(step, world, path, [below, own, imported]);
});

const certificates = story('system/certificate', async (step, world) => {
  const path = 'system/certificate';
  const authority = await step('has an authority', () => newAuthority(world));
  const signed = { cert_signedby: authority?.['id'] };
  const internal = await step('internal makes one', () =>
    madeBy(world, path, 'internal', 'Certificate created.', { ...subject(world.name('host')), ...signed }),
  );
  const request = await step('csr makes a request', () =>
    madeBy(world, path, 'csr', 'Certificate Signing Request created.', subject(world.name('request'))),
  );
  const imported = await step('import takes one', () =>
    madeBy(world, path, 'import', 'Certificate imported.', {
      cert_name: world.name('imported'),
      cert_certificate: exampleCertificate,
      cert_privatekey: exampleKey,
      cert_serial: null,
    }),
  );
  // The document leaves the record open: these are the fields that all have in common with an authority.
  const shape = {
    id: integer,
    ...each(text, 'cert_name', 'cert_issuer', 'cert_DN'),
    ...each(
      maybe(text),
      'cert_certificate',
      'cert_privatekey',
      'cert_CSR',
      'cert_from',
      'cert_until',
      'cert_common',
      'cert_country',
    ),
    ...each(maybe(integer), 'cert_lifetime', 'cert_key_length'),
    cert_type: integer,
    cert_chain: flag,
  };
  await listed(path, (record) => String(record['id']), shape, step, world);
  await subjects(step, world, path, 'Certificate created.', signed);
  await removed(step, world, path, [internal, request, imported]);
  await removed(step, world, 'system/certificateauthority', [authority]);
});

const tunables = collection('system/tunable', {
  record: {
    ...each(text, 'tun_var', 'tun_value', 'tun_comment'),
    tun_type: oneOf('sysctl', 'loader', 'rc'),
    tun_enabled: flag,
  },
  create: (world) => ({
    tun_var: `zfs.${world.name('option')}`,
    tun_value: '1',
    tun_type: 'loader',
    tun_comment: 'for a trial',
    tun_enabled: false,
  }),
  change: () => ({ tun_value: '2', tun_comment: 'for another' }),
  // A parameter of the running kernel has to be one.
  choices: {
    along: { tun_type: (type) => (type === 'sysctl' ? { tun_var: 'net.ipv4.ip_forward', tun_value: '0' } : {}) },
  },
});

/** What ends the machine's work, last of all. */
const endings = story('system', async (step, world) => {
  if (!world.target.disturb) return;
  await step('restarts', () => askText(world, 202, 'POST', 'system/reboot/', 'Reboot process started.'));
  await step('shuts down', () => askText(world, 202, 'POST', 'system/shutdown/', 'Shutdown process started.'));
});

const reset = story('system/config', async (step, world) => {
  if (world.target.disturb)
    await step('is reset', () =>
      askText(
        world,
        202,
        'POST',
        'system/config/factory_restore/',
        'Configuration restored to defaults. Reboot required.',
      ),
    );
});

export const systemArea: Area = {
  name: 'system',
  resources: [
    version,
    updates,
    debug,
    advanced,
    alerts,
    bootEnvironments,
    email,
    ntpServers,
    settings,
    protocols,
    authorities,
    certificates,
    tunables,
    endings,
    reset,
  ],
};
