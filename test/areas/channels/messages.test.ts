import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Alert, textOf, titleOf } from '../../../src/areas/channels/alert.ts';
import { type Channel, channel } from '../../../src/areas/channels/channel.ts';
import { alertsDue, isQuiet } from '../../../src/areas/channels/due.ts';
import { integer, oid, trapOf } from '../../../src/areas/channels/snmp-trap.ts';
import { framed, syslogMessage } from '../../../src/areas/channels/syslog.ts';
import { requestsOf, type TemplateName, templates } from '../../../src/areas/channels/templates.ts';
import type { CurrentProblem } from '../../../src/engine/declare/problem.ts';

const at = Date.UTC(2026, 0, 2, 3, 4, 5);
const full: Alert = {
  ...{ id: 'f1', kind: 'capacity', about: 'storage/volume/tank', severity: 'critical', state: 'began', since: at },
  message: 'The volume <tank> is 95 % full.',
};
const ended: Alert = {
  ...full,
  id: 'f2',
  kind: 'clock',
  state: 'ended',
  severity: 'warning',
  message: 'The clock is off.',
};
const bulletin = { host: 'nas', at, alerts: [full, ended] };

test('a message names the worst of what lasts and what ended, and counts what it does not list', () => {
  assert.equal(titleOf(bulletin), 'nas: 1 problem, critical; 1 ended');
  assert.equal(titleOf({ ...bulletin, alerts: [ended] }), 'nas: 1 problem ended');
  assert.equal(textOf(bulletin.alerts), '[critical] The volume <tank> is 95 % full.\n[ended] The clock is off.');
  assert.match(textOf(Array<Alert>(50).fill(full)), /\nand 30 more: GET/);
});

test('every template fills all of its values', () => {
  for (const name of Object.keys(templates).filter((one): one is TemplateName => one in templates)) {
    const requests = requestsOf(name, { address: 'https://receiver.example.org/path', token: 'secret' }, bulletin);
    for (const { url, headers, body, alerts } of requests) {
      assert.ok(url.startsWith('https://receiver.example.org/path'), name);
      assert.doesNotMatch(`${url}${JSON.stringify(headers)}${body}`, /\{\w+\}|undefined|NaN/, name);
      assert.ok(alerts.length > 0);
    }
    assert.deepEqual(
      requests.flatMap(({ alerts }) => alerts),
      bulletin.alerts,
      name,
    );
  }
});

test('a chat gets one message, and a paging service one for each problem, with its id', () => {
  const to = { address: '', token: 'key' };
  const [slack, ...none] = requestsOf('slack', { address: 'https://chat.example.org/hook', token: '' }, bulletin);
  assert.deepEqual(none, []);
  assert.deepEqual(JSON.parse(slack?.body ?? ''), {
    text: 'nas: 1 problem, critical; 1 ended',
    attachments: [
      {
        color: '#c62828',
        fallback: 'nas: 1 problem, critical; 1 ended',
        text: '[critical] The volume &lt;tank&gt; is 95 % full.\n[ended] The clock is off.',
      },
    ],
  });
  assert.deepEqual(
    requestsOf('pagerduty', to, bulletin).map(({ url, body }) => [url, JSON.parse(body)]),
    [
      [
        'https://events.pagerduty.com/v2/enqueue',
        {
          ...{ routing_key: 'key', event_action: 'trigger', dedup_key: 'f1', client: 'Holdfast' },
          payload: {
            ...{ summary: 'The volume <tank> is 95 % full.', source: 'nas', severity: 'critical' },
            ...{ timestamp: '2026-01-02T03:04:05.000Z', component: 'storage/volume/tank', class: 'capacity' },
          },
        },
      ],
      [
        'https://events.pagerduty.com/v2/enqueue',
        {
          ...{ routing_key: 'key', event_action: 'resolve', dedup_key: 'f2', client: 'Holdfast' },
          payload: {
            ...{ summary: 'The clock is off.', source: 'nas', severity: 'warning' },
            ...{ timestamp: '2026-01-02T03:04:05.000Z', component: 'storage/volume/tank', class: 'clock' },
          },
        },
      ],
    ],
  );
  const [opened, closed] = requestsOf('opsgenie', to, bulletin);
  assert.equal(opened?.headers['authorization'], 'GenieKey key');
  assert.equal(closed?.url, 'https://api.opsgenie.com/v2/alerts/f2/close?identifierType=alias');
  const [note] = requestsOf('ntfy', { address: 'https://ntfy.example.org/nas', token: '' }, bulletin);
  assert.deepEqual(note?.headers, {
    'content-type': 'text/plain; charset=utf-8',
    ...{ title: 'nas: 1 problem, critical; 1 ended', priority: '5', tags: 'rotating_light' },
  });
  assert.equal(note?.body, '[critical] The volume <tank> is 95 % full.\n[ended] The clock is off.');
});

test('a note of ntfy has at most 4096 bytes, however many each character has', () => {
  const to = { address: 'https://ntfy.example.org/nas', token: '' };
  for (const letters of ['m', 'Ж', 'm€', '🖴']) {
    const alerts = Array<Alert>(20).fill({ ...full, message: letters.repeat(300) });
    const [note] = requestsOf('ntfy', to, { ...bulletin, alerts });
    const length = Buffer.byteLength(note?.body ?? '');
    assert.ok(length <= 4096 && length > 4090, `${letters}: ${length}`);
    assert.doesNotMatch(note?.body ?? '', /\ufffd/);
  }
});

test('a line of syslog is of RFC 5424, with its quotes escaped and no line breaks', () => {
  const odd = { ...full, about: 'a"b\\c]d', message: 'one\ntwo' };
  assert.equal(
    syslogMessage(odd, { host: 'nas 1', at }),
    '<26>1 2026-01-02T03:04:05.000Z nas-1 holdfast - capacity [holdfast@32473 id="f1" kind="capacity" about="a\\"b\\\\c\\]d" severity="critical" state="began"] \u{feff}one two',
  );
  assert.equal(syslogMessage(ended, bulletin).slice(0, 5), '<29>1');
  assert.equal(framed('é').toString(), '2 é');
});

test('numbers and names are encoded by BER, and a trap has its parts', () => {
  assert.equal(integer(0).toString('hex'), '020100');
  assert.equal(integer(127).toString('hex'), '02017f');
  assert.equal(integer(128).toString('hex'), '02020080');
  assert.equal(integer(2 ** 31).toString('hex'), '02050080000000');
  assert.equal(oid('1.3.6.1.4.1.50536.2').toString('hex'), '06092b06010401838a6802');
  const trap = trapOf({ ...full, message: 'm'.repeat(300) }, { community: 'comm', number: 7, upSeconds: 1.5 });
  assert.equal(trap.subarray(0, 2).toString('hex'), '3082');
  assert.equal(trap.readUInt16BE(2), trap.length - 4);
  assert.equal(trap.subarray(4, 13).toString('hex'), '0201010404636f6d6d');
  assert.equal(trap[13], 0xa7);
  for (const part of [integer(7), oid('1.3.6.1.2.1.1.3.0'), integer(150, 0x43), oid('1.3.6.1.4.1.50536.2.1.1')])
    assert.ok(trap.includes(part), part.toString('hex'));
});

const night: Channel = {
  ...{ id: 1, name: 'night', kind: 'webhook', address: 'https://receiver.example.org/', token: '', enabled: true },
  ...{ least: 'warning', kinds: [], quiet_from: '22:00', quiet_until: '06:00', gather_seconds: 0 },
  ...{ repeat_minutes: 0, reports_end: true },
};
const warning: CurrentProblem = {
  ...{ id: 'w', kind: 'wear', about: 'storage/disk/a', severity: 'warning', message: 'worn', since: at },
};
const moment = { now: at, time: '12:00', isAcknowledged: () => false, trustsEnds: true };
const statesOf = (...input: Parameters<typeof alertsDue>) =>
  alertsDue(...input).map(({ id, state }) => `${id} ${state}`);

test('quiet hours may last over midnight', () => {
  assert.deepEqual(
    ['21:59', '22:00', '00:00', '05:59', '06:00'].map((time) => isQuiet(night, time)),
    [...[false, true, true, true, false]],
  );
  assert.equal(isQuiet({ quiet_from: '', quiet_until: '' }, '12:00'), false);
});

test('what is due follows from severity, kind, quiet hours, acknowledgement and what was sent', () => {
  const sent = new Map([['w', { ...warning, at }]]);
  const none = new Map<string, never>();
  assert.deepEqual(statesOf(night, [warning], none, moment), ['w began']);
  assert.deepEqual(statesOf(night, [warning], sent, moment), []);
  assert.deepEqual(statesOf({ ...night, least: 'critical' }, [warning], none, moment), []);
  assert.deepEqual(statesOf({ ...night, kinds: ['clock'] }, [warning], none, moment), []);
  assert.deepEqual(statesOf(night, [warning], none, { ...moment, time: '23:00' }), []);
  assert.deepEqual(statesOf(night, [{ ...warning, severity: 'critical' }], none, { ...moment, time: '23:00' }), [
    'w began',
  ]);
  assert.deepEqual(statesOf(night, [warning], none, { ...moment, isAcknowledged: () => true }), []);
  assert.deepEqual(
    statesOf(night, [{ ...warning, severity: 'critical' }], sent, moment),
    ['w began'],
    'it became worse',
  );
  const again = { ...night, repeat_minutes: 10 };
  assert.deepEqual(statesOf(again, [warning], sent, { ...moment, now: at + 9 * 60_000 }), []);
  assert.deepEqual(statesOf(again, [warning], sent, { ...moment, now: at + 10 * 60_000 }), ['w lasts']);
  assert.deepEqual(statesOf(night, [], sent, moment), ['w ended']);
  assert.deepEqual(statesOf(night, [], sent, { ...moment, trustsEnds: false }), []);
  assert.deepEqual(statesOf({ ...night, reports_end: false }, [], sent, moment), []);
  assert.equal(channel.ofMachine, true);
});
