import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isObject } from '../../src/lib/json.ts';
import { certificateRequest } from '../support/certificates.ts';
import { mail, mailServer, trustMailServer } from '../support/mail-server.ts';
import { startDaemon, stateFolder } from './daemon.ts';

const own = '/api/holdfast/v1';

test('the bundled daemon loads its late packages: certificates, YAML, diffs and mail; and draws QR codes', async () => {
  await using state = await stateFolder();
  await using post = await mailServer({ secure: true });
  const { api, end } = await startDaemon(state.path, [], ['--send-mail']);
  try {
    await api.expect(201, 'POST', 'system/certificateauthority/internal/', {
      ...certificateRequest,
      cert_name: 'root',
    });
    const written = await api.get(`${own}/file`, { accept: 'application/yaml' });
    assert.match(written.text, /^holdfast: 1$/m);
    const body = { cifs_srv_description: 'Other' };
    const plan = await api.post(`${own}/plan`, { details: true, method: 'PUT', path: 'services/cifs/', body });
    assert.match(plan.text, /\+\s*server string = "?Other/);
    await trustMailServer(api);
    await api.expect(200, 'PUT', 'system/email/', mail(post.port, { em_security: 'ssl' }));
    assert.equal((await api.post(`${own}/email/test`, { to: 'admin@example.com' })).status, 200);
    const factor = await api.post(`${own}/people/current/factor`, {});
    assert.equal(factor.status, 201);
    assert.ok(isObject(factor.json));
    assert.match(String(factor.json['qr']), /^<svg /);
  } finally {
    await end('SIGTERM');
  }
});
