import type { Medium } from '../../host/ports/network.ts';
import { quote } from '../../lib/text.ts';

/** Parsed ifconfig options of a link. A property is undefined when the option is absent. */
export interface LinkOptions {
  readonly up?: boolean;
  readonly mtu?: number;
  readonly promisc?: boolean;
  readonly arp?: boolean;
  /** Hardware address in lower case with colons. */
  readonly mac?: string;
  readonly medium?: Medium;
}

/** The supported options, for messages and documents. */
export const optionWords =
  'up, down, mtu N, promisc, -promisc, arp, -arp, ether ADDRESS, media autoselect, media 100baseTX (or a similar name), mediaopt full-duplex or half-duplex';

/** Parses the options, or returns the problem of the first invalid one. Later options override earlier ones. */
export function readOptions(text: string): { readonly options: LinkOptions } | { readonly wrong: string } {
  const options: { -readonly [K in keyof LinkOptions]: LinkOptions[K] } = {};
  let speed: number | 'auto' | undefined;
  let duplex: 'full' | 'half' | undefined;
  const argv = text.split(/\s+/).filter((argument) => argument !== '');
  for (let index = 0; index < argv.length; index += 1) {
    const argument = argv[index] ?? '';
    const next = argv[index + 1];
    switch (argument) {
      case 'up':
      case 'down':
        options.up = argument === 'up';
        break;
      case 'promisc':
      case '-promisc':
        options.promisc = argument === 'promisc';
        break;
      case 'arp':
      case '-arp':
        options.arp = argument === 'arp';
        break;
      case 'mtu': {
        const mtu = /^\d{1,5}$/.test(next ?? '') ? Number(next) : 0;
        if (mtu < 68 || mtu > 65_535)
          return {
            wrong: `Expected a number from 68 to 65535 after mtu, got ${next === undefined ? 'nothing' : quote(next)}.`,
          };
        options.mtu = mtu;
        index += 1;
        break;
      }
      case 'ether':
      case 'lladdr':
      case 'link': {
        // The lowest bit of the first byte marks a group address, so the address of an interface has an even first
        // byte.
        if (next === undefined || !/^[0-9a-f][02468ace](:[0-9a-f]{2}){5}$/i.test(next) || /^[0:]+$/.test(next))
          return { wrong: `Expected a unicast hardware address after ${argument}, as 02:00:00:00:00:01.` };
        options.mac = next.toLowerCase();
        index += 1;
        break;
      }
      case 'media':
        speed = speedOf(next ?? '');
        if (speed === undefined)
          return {
            wrong: `Expected autoselect or a medium, as 100baseTX or 10Gbase-T, after media, got ${next === undefined ? 'nothing' : quote(next)}.`,
          };
        index += 1;
        break;
      case 'mediaopt':
        if (next !== 'full-duplex' && next !== 'half-duplex')
          return { wrong: 'Expected full-duplex or half-duplex after mediaopt.' };
        duplex = next === 'full-duplex' ? 'full' : 'half';
        index += 1;
        break;
      default:
        return { wrong: `Expected one of the ifconfig options ${optionWords}, got ${quote(argument)}.` };
    }
  }
  if (duplex !== undefined && typeof speed !== 'number')
    return {
      wrong: 'mediaopt requires media with a speed: autonegotiation also selects the duplex mode.',
    };
  if (speed !== undefined) options.medium = speed === 'auto' ? 'auto' : { speed, duplex: duplex ?? 'full' };
  return { options };
}

/** Mbit/s of a medium by its name in ifconfig. */
function speedOf(name: string): number | 'auto' | undefined {
  if (name === 'autoselect' || name === 'auto') return 'auto';
  const match = /^(\d{1,4})(G?)base[-A-Za-z0-9/]*$/i.exec(name);
  if (match === null) return undefined;
  const speed = Number(match[1]) * (match[2] === '' ? 1 : 1000);
  return speeds.includes(speed) ? speed : undefined;
}

const speeds: readonly number[] = [10, 100, 1000, 2500, 5000, 10_000, 25_000, 40_000, 50_000, 100_000, 200_000];

/** The options of a record; they were validated when the record was saved. */
export function optionsOf(text: string): LinkOptions {
  const reading = readOptions(text);
  return 'options' in reading ? reading.options : {};
}
