import { failed, missing } from '../../engine/declare/errors.ts';
import {
  advanced,
  basic,
  choice,
  createOnly,
  type Field,
  type Fields,
  field,
  flag,
  inputOnly,
  live,
  naming,
  nullable,
  onMachine,
  refine,
  required,
  text,
  titled,
} from '../../engine/declare/fields.ts';
import { addressOf } from '../../engine/declare/formats.ts';
import {
  action,
  type Checking,
  collection,
  type RecordOf,
  type View,
  type World,
} from '../../engine/declare/resource.ts';
import type { Rule } from '../../engine/declare/rule.ts';
import { absence } from '../../engine/facts/places.ts';
import { type Ip, isSameIp, parseIp } from '../../lib/ip.ts';
import { quote } from '../../lib/text.ts';
import { networkSettings } from '../network/globalconfiguration.ts';
import { networkInterface } from '../network/interface.ts';
import { noSuchNic, plugged } from '../network/nics.ts';
import { drawnFor } from '../storage/keys.ts';
import { removeOccupants } from '../storage/occupants.ts';
import { cloneSnapshot, destroyDataset } from '../storage/steps.ts';
import {
  bridgeAddresses,
  interfaceFor,
  type JailAddresses,
  machineAddresses,
  nextFree,
  ownAddresses,
} from './addresses.ts';
import { jailSettings, jailsPlace, noBroadcasts } from './configuration.ts';
import { flagWords, readFlags } from './flags.ts';
import { startJail, stopJail } from './steps.ts';
import { jailTemplate, keepTemplate, templateDataset, templateSnapshot } from './templates.ts';

const address = (family: 4 | 6, description: string) => nullable(addressOf(family, { description }));

/** A prefix length in digits, as in the document; empty means unset. */
const bits = (most: 32 | 128, description: string): Field<string, 'plain'> =>
  refine(text({ description, max: 3, pattern: /^[0-9]+$/, rule: `Expected a number from 1 to ${most}.` }), (value) =>
    value !== '' && (Number(value) < 1 || Number(value) > most)
      ? `Expected a number from 1 to ${most}, got ${value}.`
      : undefined,
  );

const macAddress = refine(
  text({ description: 'MAC address of its interface; a random one is chosen when not sent.', max: 17 }),
  (value) =>
    value === '' || /^[0-9a-f][02468ace](:[0-9a-f]{2}){5}$/i.test(value)
      ? undefined
      : `Expected a unicast MAC address such as 02:00:00:00:00:01, got ${quote(value)}.`,
);

const fields = {
  jail_host: titled(
    'Name',
    required(
      createOnly(
        text({
          description: 'Name of the jail, which is also its host name.',
          // The maximum length of a host name on Linux.
          max: 64,
          pattern: /^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?$/,
          rule: 'The name may contain letters, digits, _ and - only, and must not begin or end with -.',
        }),
      ),
    ),
  ),
  jail_type: titled(
    'Template',
    createOnly(
      naming(
        'jails/templates',
        text({ description: 'Name of the template that the jail is created from.', max: 120, initial: 'standard' }),
      ),
    ),
  ),
  jail_status: live(choice(['Running', 'Stopped'], { description: 'Whether the jail is running.' })),
  jail_autostart: titled(
    'Start with the machine',
    flag(true, { description: 'Whether the jail starts with the machine.' }),
  ),
  ...advanced('Network', {
    jail_nat: titled(
      'Translate addresses',
      flag(false, { description: 'Whether outgoing traffic is translated to an address of the machine (NAT).' }),
    ),
    jail_vnet: titled(
      'Network of its own',
      flag(true, {
        description:
          'Whether the jail has its own network stack. Otherwise it shares that of the machine, with its addresses on an interface.',
      }),
    ),
    jail_flags: titled(
      'Further settings',
      refine(text({ description: `Limits of the jail, separated by commas: ${flagWords}.`, max: 255 }), (value) => {
        const reading = readFlags(value);
        return 'wrong' in reading ? reading.wrong : undefined;
      }),
    ),
    jail_mac: titled(
      'MAC address',
      field({
        ...macAddress,
        read: (sent) => macAddress.read(typeof sent === 'string' ? sent.toLowerCase() : sent),
      }),
    ),
  }),
  ...basic('Addresses', {
    jail_ipv4: titled(
      'IPv4 address',
      address(4, 'IPv4 address; the next free one of the configured range when not sent.'),
    ),
    jail_ipv4_netmask: titled('IPv4 prefix length', bits(32, 'Prefix length of jail_ipv4.')),
    jail_ipv6: titled(
      'IPv6 address',
      address(6, 'IPv6 address; the next free one of the configured range when not sent.'),
    ),
    jail_ipv6_prefix: titled('IPv6 prefix length', bits(128, 'Prefix length of jail_ipv6.')),
  }),
  ...advanced('Addresses', {
    jail_alias_ipv4: titled('IPv4 alias', address(4, 'Additional IPv4 address.')),
    jail_alias_ipv6: titled('IPv6 alias', address(6, 'Additional IPv6 address.')),
  }),
  ...advanced('Bridge and router', {
    jail_bridge_ipv4: titled(
      'IPv4 address of the bridge',
      address(4, "IPv4 address of the machine on the jails' bridge."),
    ),
    jail_bridge_ipv4_netmask: titled(
      'IPv4 prefix length of the bridge',
      bits(32, 'Prefix length of jail_bridge_ipv4.'),
    ),
    jail_bridge_ipv6: titled(
      'IPv6 address of the bridge',
      address(6, "IPv6 address of the machine on the jails' bridge."),
    ),
    jail_bridge_ipv6_prefix: titled(
      'IPv6 prefix length of the bridge',
      bits(128, 'Prefix length of jail_bridge_ipv6.'),
    ),
    jail_alias_bridge_ipv4: titled(
      'IPv4 alias of the bridge',
      address(4, "Additional IPv4 address of the machine on the jails' bridge."),
    ),
    jail_alias_bridge_ipv6: titled(
      'IPv6 alias of the bridge',
      address(6, "Additional IPv6 address of the machine on the jails' bridge."),
    ),
    jail_defaultrouter_ipv4: titled(
      'IPv4 router',
      address(4, 'IPv4 default gateway of the jail; the machine itself when not sent.'),
    ),
    jail_defaultrouter_ipv6: titled(
      'IPv6 router',
      address(6, 'IPv6 default gateway of the jail; the address of the machine on the bridge when not sent.'),
    ),
  }),
  ...advanced('Network', {
    // Not in the document's list of fields (gaps 2.2).
    jail_iface: titled(
      'Interface',
      onMachine(
        text({
          description:
            'Interface through which other machines reach the jail; the one whose network contains its address when not sent.',
          max: 15,
        }),
        (name, facts) => (plugged(facts).some((link) => link.name === name) ? undefined : noSuchNic(name)),
      ),
    ),
    jail_ipv4_dhcp: titled(
      'IPv4 by DHCP',
      inputOnly(
        refine(
          flag(false, {
            description: 'Whether the jail gets its address by DHCP; not supported, only false is accepted.',
          }),
          (on) => (on ? noBroadcasts('DHCP') : undefined),
        ),
      ),
    ),
    jail_ipv6_autoconf: titled(
      'IPv6 by autoconfiguration',
      inputOnly(
        refine(
          flag(false, {
            description:
              'Whether the jail configures its address by router advertisements; not supported, only false is accepted.',
          }),
          (on) => (on ? noBroadcasts('IPv6 autoconfiguration') : undefined),
        ),
      ),
    ),
  }),
};

export type Jail = RecordOf<typeof fields>;

export const jail = collection(
  'jails/jails',
  {
    shortName: 'jail',
    title: 'jail',
    description: 'A system container: a Linux system that shares the kernel of the machine.',
    ofMachine: true,
    // Part A: jails have no update endpoint.
    verbs: ['list', 'read', 'create', 'remove'],
    order: ['jail_host'],
    filters: ['jail_host'],
    shows: ['jails'],
    locate({ jail_host }, view) {
      const place = jailsPlace(view);
      return place === undefined ? [] : [{ dataset: `${place.dataset}/${jail_host}` }];
    },
    usedBy: async ({ jail_host }, _view, { jails }) =>
      (await jails.look()).has(jail_host) ? ['its processes, because it is running'] : [],
    unique: [
      { fields: ['jail_host'], caseless: true, description: 'A jail with this name already exists.' },
      { fields: ['jail_mac'], description: 'Another jail already has this MAC address.' },
    ],
    fields,
    async beforehand(sent, operations) {
      const template = operations.world.view.find(jailTemplate, 'jt_name', sent.jail_type ?? fields.jail_type.initial);
      // Fetch the template only when the request can succeed; `check` reports the other problems.
      if (template?.jt_os === 'Linux' && jailsPlace(operations.world.view) !== undefined)
        await keepTemplate(template, operations);
      return {};
    },
    complete: ({ record, before, view, facts }) => (before === undefined ? chosen(record, view, { view, facts }) : {}),
    check: (checking) => {
      checkPlace(checking);
      checkTemplate(checking);
      checkNetwork(checking);
    },
    onSave({ draft, record, before, view }) {
      const template = view.find(jailTemplate, 'jt_name', record.jail_type);
      const place = jailsPlace(view);
      if (before !== undefined || template === undefined || place === undefined) return;
      draft.update(jailTemplate, template.id, {}, { jt_instances: template.jt_instances + 1 });
      const from = templateDataset(template, view);
      const name = `${place.dataset}/${record.jail_host}`;
      if (from !== undefined)
        draft.plan.first(cloneSnapshot({ snapshot: templateSnapshot(from), name, with: 'children' }));
      draft.plan.last(startJail({ name: record.jail_host }));
    },
    onRemove({ draft, record, view, facts }) {
      const template = view.find(jailTemplate, 'jt_name', record.jail_type);
      if (template !== undefined)
        draft.update(jailTemplate, template.id, {}, { jt_instances: Math.max(0, template.jt_instances - 1) });
      draft.plan.first(stopJail({ name: record.jail_host }));
      const place = jailsPlace(view);
      const dataset = `${place?.dataset}/${record.jail_host}`;
      removeOccupants(draft, { dataset }, { cascade: false });
      if (!facts.storage.datasets.has(dataset)) return;
      // Mounts exist only in the namespace of the jail and are gone once it has stopped, so no mounted data is destroyed.
      draft.plan.last(destroyDataset({ name: dataset, with: 'children' }));
    },
    present: ({ jail_host }, { facts }) => ({ jail_status: statusText(facts.jails.has(jail_host)) }),
  },
  [
    switching('start', 'Starts the jail.', 'Jail started.'),
    switching('stop', 'Stops the jail. Processes that do not exit within 30 seconds are killed.', 'Jail stopped.'),
    switching('restart', 'Stops the jail and starts it again.', 'Jail restarted.'),
  ],
);

/**
 * Existing jails are stored below jc_path, so it must not change while there are jails. As long as it is not set, jails
 * are made by the same change.
 */
export const jailsStay: Rule = {
  description: 'jc_path does not change while there are jails.',
  reads: [jailSettings],
  check(draft, changed) {
    const [first] = draft.all(jail);
    for (const { before, after } of changed)
      if (first !== undefined && before?.['jc_path'] !== '' && before?.['jc_path'] !== after?.['jc_path'])
        draft.issues.add(
          'jc_path',
          `The jail ${quote(first.jail_host)} is stored in ${String(before?.['jc_path'])}. Delete all jails first.`,
        );
  },
};

/** An interface must not take the address of a jail. The opposite direction is checked when a jail is created. */
export const jailsKeepAddresses: Rule = {
  description: 'No interface has the address of a jail.',
  reads: [networkInterface],
  check(draft, changed) {
    const jails = draft.all(jail);
    for (const { after } of changed)
      for (const name of ['int_ipv4address', 'int_ipv6address', 'int_aliases']) {
        const values = [after?.[name]].flat().flatMap((value) => parseIp(String(value).split('/')[0] ?? '') ?? []);
        const owner = jails.find((candidate) =>
          ownAddresses.some((own) => values.some((value) => isSameIp(parseIp(candidate[own] ?? ''), value))),
        );
        if (owner !== undefined) draft.issues.add(name, `The jail ${quote(owner.jail_host)} already has this address.`);
      }
  },
};

function statusText(runs: boolean): 'Running' | 'Stopped' {
  return runs ? 'Running' : 'Stopped';
}

// Values that the service chooses ------------------------------------------------------------------------------------

function chosen(record: Jail, view: View, world: World): Partial<Jail> {
  const settings = view.only(jailSettings);
  const { gc_ipv4gateway, gc_ipv6gateway } = view.only(networkSettings);
  const taken = [
    ...view.all(jail).flatMap(allAddresses),
    ...allAddresses(record),
    ...machineAddresses(world.facts),
    ...[gc_ipv4gateway, gc_ipv6gateway, record.jail_defaultrouter_ipv4 ?? '', record.jail_defaultrouter_ipv6 ?? ''],
  ];
  const v4 = record.jail_ipv4 === null ? nextFree(settings, 4, taken) : null;
  const v6 = record.jail_ipv6 === null ? nextFree(settings, 6, taken) : null;
  const ipv4 = record.jail_ipv4 ?? (v4 === null || v4 === 'none' ? null : v4.address);
  const ipv6 = record.jail_ipv6 ?? (v6 === null || v6 === 'none' ? null : v6.address);
  const [bits4, bits6] = [bitsOf(settings.jc_ipv4_network) ?? '24', bitsOf(settings.jc_ipv6_network) ?? '64'];
  const known = parseIp(ipv4 ?? ipv6 ?? '');
  return {
    jail_mac:
      record.jail_mac === '' ? macOf(drawnFor(`the MAC address of jail ${record.id}`, world.view)) : record.jail_mac,
    jail_ipv4: ipv4,
    jail_ipv6: ipv6,
    jail_ipv4_netmask: record.jail_ipv4_netmask === '' && ipv4 !== null ? bits4 : record.jail_ipv4_netmask,
    jail_ipv6_prefix: record.jail_ipv6_prefix === '' && ipv6 !== null ? bits6 : record.jail_ipv6_prefix,
    jail_bridge_ipv4_netmask:
      record.jail_bridge_ipv4_netmask === '' && record.jail_bridge_ipv4 !== null
        ? bits4
        : record.jail_bridge_ipv4_netmask,
    jail_bridge_ipv6_prefix:
      record.jail_bridge_ipv6_prefix === '' && record.jail_bridge_ipv6 !== null
        ? bits6
        : record.jail_bridge_ipv6_prefix,
    jail_iface:
      record.jail_iface === '' && known !== undefined ? (interfaceFor(known, world.facts) ?? '') : record.jail_iface,
  };
}

function bitsOf(network: string | null): string | undefined {
  return network?.split('/')[1];
}

/** A locally administered MAC address, as the second lowest bit of the first byte marks it. */
export function macOf(bytes: Uint8Array): string {
  return `02:${[...bytes.subarray(0, 5)].map((byte) => byte.toString(16).padStart(2, '0')).join(':')}`;
}

function allAddresses(record: JailAddresses): readonly string[] {
  return [...ownAddresses, ...bridgeAddresses].flatMap((name) => record[name] ?? []);
}

// What is wrong with a jail ------------------------------------------------------------------------------------------

type JailCheck = Checking<typeof fields>;

function checkPlace({ record, before, view, facts, issues }: JailCheck): void {
  const place = jailsPlace(view);
  if (place === undefined) throw failed('Jails are not configured. Send jc_path to /jails/configuration/ first.');
  const absent = absence({ dataset: place.dataset }, facts.storage);
  if (absent !== undefined) throw failed(`No jail can be created: ${absent}.`);
  const dataset = `${place.dataset}/${record.jail_host}`;
  if (before === undefined && facts.storage.datasets.has(dataset))
    issues.add('jail_host', `The dataset ${dataset} already exists.`);
}

function checkTemplate({ record, view, issues }: JailCheck): void {
  const template = view.find(jailTemplate, 'jt_name', record.jail_type);
  if (template === undefined) issues.add('jail_type', `The jail template ${quote(record.jail_type)} does not exist.`);
  else if (template.jt_os !== 'Linux')
    issues.add(
      'jail_type',
      `The template ${quote(template.jt_name)} is for ${template.jt_os}, which cannot run on the Linux kernel of this machine. Choose a Linux template.`,
    );
}

function checkNetwork({ record, before, view, facts, issues }: JailCheck): void {
  const others = view.all(jail).filter(({ id }) => id !== record.id);
  const machine = machineAddresses(facts);
  const mine: Ip[] = [];
  for (const name of ownAddresses) {
    const ip = parseIp(record[name] ?? '');
    if (ip === undefined) continue;
    const same = (text: string | null) => text !== null && isSameIp(parseIp(text), ip);
    const owner = others.find((other) => allAddresses(other).some(same));
    if (owner !== undefined) issues.add(name, `The jail ${quote(owner.jail_host)} already has this address.`);
    else if (machine.some(same)) issues.add(name, 'The machine already has this address.');
    else if (mine.some((own) => isSameIp(own, ip)))
      issues.add(name, 'Another field of this jail has the same address.');
    mine.push(ip);
  }
  for (const name of bridgeAddresses) {
    const ip = parseIp(record[name] ?? '');
    if (ip === undefined) continue;
    if (mine.some((own) => isSameIp(own, ip)))
      issues.add(name, 'The jail itself has this address. Choose another one for the machine.');
    const owner = others.find((other) => ownAddresses.some((own) => isSameIp(parseIp(other[own] ?? ''), ip)));
    if (owner !== undefined) issues.add(name, `The jail ${quote(owner.jail_host)} already has this address.`);
    else if (machine.some((taken) => isSameIp(parseIp(taken), ip)))
      issues.add(name, 'An interface of the machine already has this address.');
  }
  for (const [name, other] of [
    ['jail_alias_ipv4', 'jail_ipv4'],
    ['jail_alias_ipv6', 'jail_ipv6'],
    ['jail_alias_bridge_ipv4', 'jail_bridge_ipv4'],
    ['jail_alias_bridge_ipv6', 'jail_bridge_ipv6'],
  ] as const)
    if (record[name] !== null && record[other] === null) issues.add(name, `${other} is required when ${name} is set.`);
  const settings = view.only(jailSettings);
  for (const [family, name, network] of [
    [4, 'jail_ipv4', settings.jc_ipv4_network],
    [6, 'jail_ipv6', settings.jc_ipv6_network],
  ] as const)
    if (before === undefined && record[name] === null && network !== null)
      issues.add(name, `The configured IPv${family} address range has no free address.`);
  if (!record.jail_vnet) {
    if (record.jail_nat)
      issues.add('jail_nat', 'jail_nat requires jail_vnet: without it the jail shares the network of the machine.');
    for (const name of [...bridgeAddresses, 'jail_defaultrouter_ipv4', 'jail_defaultrouter_ipv6'] as const)
      if (record[name] !== null) issues.add(name, `${name} requires jail_vnet.`);
    if (record.jail_iface === '' && (record.jail_ipv4 ?? record.jail_ipv6) !== null)
      issues.add(
        'jail_iface',
        'jail_iface is required without jail_vnet: no interface is in the network of this address.',
      );
  } else if (record.jail_nat && (record.jail_ipv4 ?? record.jail_ipv6) === null)
    issues.add('jail_nat', 'jail_nat requires jail_ipv4 or jail_ipv6.');
}

// What is done -------------------------------------------------------------------------------------------------------

/** Runs as its own job, so that neither the change queue nor other jails wait for it. */
function switching(segment: 'start' | 'stop' | 'restart', title: string, answer: string) {
  return action<Fields, unknown, Jail>({
    segment,
    title,
    // gaps 1.9
    fault: 'error',
    async perform({ target: { id, jail_host: name }, operations }) {
      await operations.work(`${segment} the jail ${name}`, [`jail:${id}`], async (work) => {
        if (operations.world.view.get(jail, id) === undefined) throw missing(`No jail has the id ${id}.`);
        await work.steps([
          ...(segment === 'start' ? [] : [stopJail({ name })]),
          ...(segment === 'stop' ? [] : [startJail({ name })]),
        ]);
      });
      return answer;
    },
  });
}
