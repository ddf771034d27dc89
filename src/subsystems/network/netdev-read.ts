/** Reads the .netdev files of networkd: the devices that it makes. */
import type { NotCarried } from '../../engine/declare/proposal.ts';
import { words } from '../../lib/text.ts';
import { type IniLine, iniOf } from '../ini.ts';
import { bondMode, isUsualOfBond, lost } from './found-network.ts';

/** A device by its own file. What it is attached to is said by the files of others. */
export interface Netdev {
  readonly file: string;
  readonly name: string;
  readonly kind: string;
  readonly options: readonly string[];
  readonly tag: number;
  readonly priority: number | undefined;
  readonly mode: string;
}

export function netdevOf(file: string, content: string, notCarried: NotCarried[]): Netdev | undefined {
  const lines = iniOf(file, content);
  const given = (section: string, name: string) =>
    lines.findLast((line) => line.section === section && line.name === name)?.value;
  const name = given('NetDev', 'Name');
  const kind = given('NetDev', 'Kind')?.toLowerCase();
  if (name === undefined || kind === undefined) return undefined;
  if (!/^(?:vlan|bond|bridge)$/.test(kind)) {
    const whole = { file, line: 0, text: file };
    const toDo = 'Nothing: networkd goes on making it.';
    notCarried.push(lost(whole, `Holdfast makes VLANs and aggregates, and no devices of the kind ${kind}.`, { toDo }));
    return undefined;
  }
  const maps = lines.filter((line) => line.section === 'VLAN' && line.name === 'EgressQOSMaps');
  const priority = samePriority(maps);
  if (kind !== 'bridge')
    for (const line of lines)
      if (!isCarried(line, priority))
        notCarried.push(lost(line, 'Holdfast has no field for it.', { within: 1, toDo: 'Do without it.' }));
  const [mtu, mac] = [given('NetDev', 'MTUBytes'), given('NetDev', 'MACAddress')];
  return {
    ...{ file, name, kind, priority, mode: bondMode(given('Bond', 'Mode')) },
    options: [
      ...(mtu !== undefined && /^\d+$/.test(mtu) ? [`mtu ${mtu}`] : []),
      ...(mac !== undefined && /^[\da-f:]{17}$/i.test(mac) ? [`ether ${mac.toLowerCase()}`] : []),
    ],
    tag: Number(given('VLAN', 'Id')),
  };
}

/** The one priority that all frames get, if they do. */
function samePriority(maps: readonly IniLine[]): number | undefined {
  const pairs = maps.flatMap(({ value }) => words(value).map((pair) => pair.split('-').map(Number)));
  const [first] = pairs;
  const from = new Set(pairs.map(([internal]) => internal));
  const isSame = from.size === 8 && pairs.every(([, priority]) => priority === first?.[1]);
  return isSame ? first?.[1] : undefined;
}

function isCarried({ section, name, value }: IniLine, priority: number | undefined): boolean {
  if (section === 'Match') return false;
  if (section === 'NetDev') return /^(?:Name|Kind|MTUBytes|MACAddress|Description)$/.test(name);
  if (section === 'VLAN') return name === 'Id' || (name === 'EgressQOSMaps' && priority !== undefined);
  return section === 'Bond' && (name === 'Mode' || isUsualOfBond(name, value));
}
