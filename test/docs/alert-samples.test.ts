/** docs/alerts.md shows one alert as each channel sends it. Here receivers on the loopback get it, and it is compared. */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { channelKinds } from '../../src/areas/channels/channel.ts';
import { AlertWatch } from '../../src/areas/system/alert-watch.ts';
import { alertReceiver, type ReceivedRequest } from '../support/alert-receivers.ts';
import { appliance } from '../support/appliance.ts';

const root = '/api/holdfast/v1';
const page = readFileSync(new URL('../../docs/alerts.md', import.meta.url), 'utf8');
const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** The path of each service, and what its token looks like in the page. */
const paths: Readonly<Record<string, { readonly path: string; readonly token?: string }>> = {
  webhook: { path: '/hook', token: 'TOKEN' },
  slack: { path: '/services/T000/B000/SECRET' },
  mattermost: { path: '/hooks/SECRET' },
  discord: { path: '/api/webhooks/1/SECRET' },
  teams: { path: '/workflows/SECRET' },
  ntfy: { path: '/nas', token: 'TOKEN' },
  pagerduty: { path: '/v2/enqueue', token: 'ROUTING_KEY' },
  opsgenie: { path: '/v2/alerts', token: 'API_KEY' },
};

/** A request without what every request has. */
function shownRequest({ method, url, headers, body }: ReceivedRequest): string {
  const ofEach = ['host', 'connection', 'content-length'];
  const lines = Object.entries(headers).flatMap(([name, value]) => (ofEach.includes(name) ? [] : `${name}: ${value}`));
  const isJson = headers['content-type'] === 'application/json';
  const text = isJson ? JSON.stringify(JSON.parse(body), undefined, 2) : body;
  return block('http', [`${method} ${url} HTTP/1.1`, ...lines, '', text].join('\n'));
}

/** A value of BER: its tag, its content and what follows it. */
function valueAt(octets: Buffer): { readonly tag: number; readonly content: Buffer; readonly rest: Buffer } {
  const [tag = 0, first = 0] = octets;
  const more = first < 128 ? 0 : first - 128;
  const length = more === 0 ? first : octets.readUIntBE(2, more);
  const begin = 2 + more;
  return { tag, content: octets.subarray(begin, begin + length), rest: octets.subarray(begin + length) };
}

function valuesIn(octets: Buffer): readonly { readonly tag: number; readonly content: Buffer }[] {
  if (octets.length === 0) return [];
  const { tag, content, rest } = valueAt(octets);
  return [{ tag, content }, ...valuesIn(rest)];
}

function nameOf(octets: Buffer): string {
  const numbers: number[] = [];
  let number = 0;
  for (const octet of octets) {
    number = number * 128 + (octet % 128);
    if (octet >= 128) continue;
    numbers.push(...(numbers.length === 0 ? [Math.floor(number / 40), number % 40] : [number]));
    number = 0;
  }
  return `.${numbers.join('.')}`;
}

/** The variables of a trap, as a manager prints them; not the first, which is how long the sender runs. */
function shownTrap(datagram: Buffer): string {
  const [version, community, trap] = valuesIn(valueAt(datagram).content);
  assert.equal(version?.content[0], 1, 'SNMP v2c');
  assert.equal(String(community?.content), 'COMMUNITY');
  const bindings = valuesIn(valuesIn(trap?.content ?? Buffer.alloc(0))[3]?.content ?? Buffer.alloc(0));
  const lines = bindings.slice(1).map(({ content }) => {
    const [name, value] = valuesIn(content);
    const { tag, content: octets } = value ?? assert.fail('a variable without a value');
    return `${nameOf(name?.content ?? Buffer.alloc(0))} = ${tag === 6 ? nameOf(octets) : `"${octets}"`}`;
  });
  return block('text', lines.join('\n'));
}

const block = (language: string, text: string) => `\`\`\`${language}\n${text}\n\`\`\`\n`;

test('docs/alerts.md shows an alert as mail and each channel send it', async () => {
  const at = Date.UTC(2026, 5, 1, 12);
  await using receiver = await alertReceiver();
  await using nas = await appliance({ now: () => at, sendsWebhooks: true });
  const volume = { volume_name: 'tank', layout: [{ vdevtype: 'mirror', disks: ['ada0', 'ada1'] }] };
  await nas.api.expect(201, 'POST', 'storage/volume/', volume);
  await nas.api.expect(200, 'PUT', 'system/email/', {
    ...{ em_outgoingserver: 'mail.example.org', em_fromemail: 'nas@example.org' },
  });
  const sockets = { syslog: createSocket('udp4'), snmp: createSocket('udp4') };
  const datagrams = new Map<string, Buffer>();
  try {
    for (const [kind, socket] of Object.entries(sockets)) {
      socket.on('message', (message) => datagrams.set(kind, message)).bind(0, '127.0.0.1');
      await once(socket, 'listening');
    }
    await nas.api.expect(201, 'POST', `${root}/virtual/faults`, { kind: 'pool-usage', target: 'tank' });
    for (const kind of channelKinds) {
      const to =
        kind === 'syslog' || kind === 'snmp'
          ? { address: `udp://127.0.0.1:${sockets[kind].address().port}`, token: kind === 'snmp' ? 'COMMUNITY' : '' }
          : { address: `${receiver.url}${paths[kind]?.path}`, token: paths[kind]?.token ?? '' };
      await nas.api.expect(201, 'POST', `${root}/channels`, { name: kind, kind, gather_seconds: 0, ...to });
    }
    nas.app.channels.look();
    await nas.app.channels.settled();
    while (datagrams.size < 2) await once(sockets[datagrams.has('snmp') ? 'syslog' : 'snmp'], 'message');
  } finally {
    for (const socket of Object.values(sockets)) socket.close();
  }
  const watch = new AlertWatch(nas.engine, nas.app.mailer, silent);
  await watch.look();
  await watch.close();
  const [mail] = await nas.api.list(`${root}/virtual/mail`);
  const requestTo = (kind: string) =>
    receiver.received.find(({ url }) => url === paths[kind]?.path) ?? assert.fail(`nothing came from ${kind}`);
  const shown = [
    ['mail', block('text', `Subject: ${mail?.['subject']}\n\n${String(mail?.['text']).trimEnd()}`)],
    ...Object.keys(paths).map((kind) => [kind, shownRequest(requestTo(kind))]),
    ['syslog', block('text', String(datagrams.get('syslog')).replaceAll('\u{feff}', ''))],
    ['snmp', shownTrap(datagrams.get('snmp') ?? Buffer.alloc(0))],
  ];
  assert.deepEqual(new Set(shown.map(([kind]) => kind)), new Set(['mail', ...channelKinds]), 'every kind is shown');
  const section = shown.map(([kind, text]) => `### \`${kind}\`\n\n${text}`).join('\n');
  const [, written = ''] = /^## What arrives\n.*?\n(### .*?)\n## /ms.exec(page) ?? [];
  assert.equal(written, section);
});
