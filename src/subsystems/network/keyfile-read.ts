/** Reads the keyfiles of NetworkManager, each of which is a connection. */
import type { NotCarried } from '../../engine/declare/proposal.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { quote, words } from '../../lib/text.ts';
import { type IniLine, iniOf } from '../ini.ts';
import {
  bondMode,
  type FoundDevice,
  type FoundLink,
  type FoundNetwork,
  type FoundRoute,
  isUsualOfBond,
  lost,
  type Said,
} from './found-network.ts';

interface Connection {
  readonly file: string;
  readonly lines: readonly IniLine[];
  readonly id: string;
  readonly uuid: string;
  readonly type: string;
  readonly device: string;
  /** What it is a part of, by the name of the device or the UUID of the connection. */
  readonly master: string | undefined;
}

export function networkManagerNetwork(files: readonly (readonly [string, string])[], facts: Facts): FoundNetwork {
  const notCarried: NotCarried[] = [];
  const all = files.flatMap(([file, content]) => connectionOf(file, content, facts, notCarried) ?? []);
  const nameServers: Said[] = [];
  const domains: Said[] = [];
  const links = all.map(
    (connection): FoundLink => ({
      ...{ file: connection.file, line: 1, text: connection.file, program: 'NetworkManager' as const },
      ...{ name: connection.device, vlans: [], refusal: undefined, device: deviceOf(connection, all) },
      ...settingsOf(connection.lines, { nameServers, domains, notCarried }),
    }),
  );
  return { links, nameServers, domains, notCarried };
}

const types: Readonly<Record<string, string>> = { '802-3-ethernet': 'ethernet' };

function connectionOf(
  file: string,
  content: string,
  { network }: Facts,
  notCarried: NotCarried[],
): Connection | undefined {
  const lines = iniOf(file, content);
  const of = (section: string, name: string) =>
    lines.findLast((line) => line.section === section && line.name === name)?.value;
  const given = of('connection', 'type') ?? '';
  const type = types[given] ?? given;
  const id = of('connection', 'id') ?? '';
  const refuse = (reason: string) => {
    const toDo = 'Nothing: NetworkManager goes on with it. Create the record of its interface by hand if it needs one.';
    notCarried.push(lost({ file, line: 0, text: `connection ${quote(id)}` }, reason, { toDo }));
    return undefined;
  };
  // A connection of another type may be that of a wireless network, with its password.
  if (!/^(?:ethernet|vlan|bond|bridge)$/.test(type)) return refuse(`Holdfast has no interfaces of the type ${type}.`);
  if (of('connection', 'autoconnect') === 'false') return refuse('The connection is not made at the start.');
  const mac = (of('ethernet', 'mac-address') ?? of('802-3-ethernet', 'mac-address'))?.toLowerCase();
  const device =
    of('connection', 'interface-name') ??
    of(type, 'interface-name') ??
    (mac === undefined ? undefined : network.links.find((link) => link.mac === mac)?.name);
  if (device === undefined) return refuse('It names no interface of this machine.');
  const master = of('connection', 'controller') ?? of('connection', 'master');
  return { file, lines, id, uuid: of('connection', 'uuid') ?? '', type, device, master };
}

function deviceOf({ type, lines, device, uuid, id }: Connection, all: readonly Connection[]): FoundDevice | undefined {
  if (type === 'ethernet') return undefined;
  const of = (name: string) => lines.findLast((line) => line.section === type && line.name === name)?.value;
  const removal = `nmcli connection delete ${/^[\w.-]+$/.test(uuid) ? uuid : `'${id.replaceAll("'", "'\\''")}'`}`;
  if (type === 'vlan') {
    const parent = of('parent') ?? /^(.+)\.\d+$/.exec(device)?.[1] ?? '';
    const name = all.find((one) => one.uuid === parent)?.device ?? parent;
    return { kind: 'vlan', parent: name, tag: Number(of('id')), priority: undefined, removal };
  }
  const parts = all.filter(({ master }) => master !== undefined && [device, uuid, id].includes(master));
  const members = parts.map((one) => one.device);
  if (type === 'bridge') return { kind: 'bridge', members, removal };
  const first = members.filter((one) => one === of('primary'));
  return { kind: 'bond', mode: bondMode(of('mode')), members: [...new Set([...first, ...members])], removal };
}

interface Into {
  readonly nameServers: Said[];
  readonly domains: Said[];
  readonly notCarried: NotCarried[];
}

type Settings = Pick<FoundLink, 'addresses' | 'dhcp' | 'ipv6auto' | 'options' | 'routes'>;

/** Lists have semicolons; commas are older. */
const listOf = (value: string) => words(value.replaceAll(/[;,]/g, ' '));

/** Lines that say who it is, or mean nothing once networkd has its file. */
const usual =
  /^(?:connection (?:id|uuid|type|interface-name|timestamp|permissions|autoconnect(?:-.*)?|master|controller|(?:slave|port)-type|zone)|(?:ethernet|802-3-ethernet) (?:mac-address|mac-address-blacklist|auto-negotiate)|vlan (?:id|parent|interface-name|flags)|bond (?:mode|primary|interface-name)|bridge .*|ipv[46] (?:method|dns-priority|never-default|may-fail|addr-gen-mode|ip6-privacy|dhcp-.*|ignore-auto-dns|route-metric)|proxy .*|user .*)$/;

function settingsOf(lines: readonly IniLine[], { nameServers, domains, notCarried }: Into): Settings {
  const addresses: string[] = [];
  const options: string[] = [];
  const routes: FoundRoute[] = [];
  let [dhcp, ipv6auto] = [false, false];
  for (const line of lines) {
    const { section, name, value } = line;
    const place = `${section} ${name}`;
    const [first = '', second] = value.split(',').map((part) => part.trim());
    const isIp = section === 'ipv4' || section === 'ipv6';
    if (isIp && /^address\d*$/.test(name)) {
      addresses.push(first);
      if (second !== undefined && second !== '') routes.push({ ...line, destination: undefined, gateway: second });
    } else if (isIp && name === 'addresses') addresses.push(...listOf(value));
    else if (isIp && name === 'gateway') routes.push({ ...line, destination: undefined, gateway: value });
    else if (isIp && name === 'dns') nameServers.push(...listOf(value).map((one) => ({ ...line, value: one })));
    else if (isIp && name === 'dns-search') domains.push(...listOf(value).map((one) => ({ ...line, value: one })));
    else if (isIp && /^route\d+$/.test(name) && second !== undefined && second !== '') {
      const isDefault = /^(?:0\.0\.0\.0|::)\/0$/.test(first);
      routes.push({ ...line, destination: isDefault ? undefined : first, gateway: second });
    } else if (name === 'mtu' && /^\d+$/.test(value)) {
      if (value !== '0') options.push(`mtu ${value}`);
    } else if (name === 'cloned-mac-address' && /^[\da-f:]{17}$/i.test(value))
      options.push(`ether ${value.toLowerCase()}`);
    else if (place === 'ipv4 method') dhcp = methodIs('auto', ['manual', 'disabled', 'link-local']);
    else if (place === 'ipv6 method') ipv6auto = methodIs('auto', ['manual', 'disabled', 'ignore', 'link-local']);
    else if (!usual.test(place) && !(section === 'bond' && isUsualOfBond(name, value)))
      // The value may be a secret, as that of 802.1X.
      notCarried.push(
        lost({ ...line, text: `${section}.${name}` }, 'Holdfast has no field for it.', {
          ...{ within: 1, toDo: 'Do without it.' },
        }),
      );

    function methodIs(wanted: string, others: readonly string[]): boolean {
      if (value !== wanted && !others.includes(value))
        notCarried.push(
          lost(line, `Holdfast has no way ${value} to configure ${section}.`, {
            ...{ within: 1, toDo: 'Set addresses of the interface.' },
          }),
        );
      return value === wanted;
    }
  }
  return { addresses, dhcp, ipv6auto, options, routes };
}
