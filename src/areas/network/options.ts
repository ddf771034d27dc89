import type { Medium } from '../../host/ports/network.ts';
import { quote } from '../../lib/text.ts';

/** What people tell a link by words of ifconfig, read. What is undefined was not said. */
export interface LinkOptions {
  readonly up?: boolean;
  readonly mtu?: number;
  readonly promisc?: boolean;
  readonly arp?: boolean;
  /** Hardware address in lower case with colons. */
  readonly mac?: string;
  readonly medium?: Medium;
}

/** The words there are, for messages and documents. */
export const optionWords =
  'up, down, mtu N, promisc, -promisc, arp, -arp, ether ADDRESS, media autoselect, media 100baseTX and its like, mediaopt full-duplex or half-duplex';

/** Reads the words, or says what is wrong with the first that cannot be carried over. Later words win. */
export function readOptions(text: string): { readonly options: LinkOptions } | { readonly wrong: string } {
  const options: { -readonly [K in keyof LinkOptions]: LinkOptions[K] } = {};
  let speed: number | 'auto' | undefined;
  let duplex: 'full' | 'half' | undefined;
  const words = text.split(/\s+/).filter((word) => word !== '');
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    const next = words[at + 1];
    switch (word) {
      case 'up':
      case 'down':
        options.up = word === 'up';
        break;
      case 'promisc':
      case '-promisc':
        options.promisc = word === 'promisc';
        break;
      case 'arp':
      case '-arp':
        options.arp = word === 'arp';
        break;
      case 'mtu': {
        const mtu = /^\d{1,5}$/.test(next ?? '') ? Number(next) : 0;
        if (mtu < 68 || mtu > 65_535)
          return {
            wrong: `After mtu comes a number from 68 to 65535, not ${next === undefined ? 'nothing' : quote(next)}.`,
          };
        options.mtu = mtu;
        at += 1;
        break;
      }
      case 'ether':
      case 'lladdr':
      case 'link': {
        // The second lowest bit of the first byte tells groups from single cards: a card has an even one.
        if (next === undefined || !/^[0-9a-f][02468ace](:[0-9a-f]{2}){5}$/i.test(next) || /^[0:]+$/.test(next))
          return { wrong: `After ${word} comes the hardware address of one card, as 02:00:00:00:00:01.` };
        options.mac = next.toLowerCase();
        at += 1;
        break;
      }
      case 'media':
        speed = speedOf(next ?? '');
        if (speed === undefined)
          return {
            wrong: `After media comes autoselect, or a name like 100baseTX or 10Gbase-T, not ${next === undefined ? 'nothing' : quote(next)}.`,
          };
        at += 1;
        break;
      case 'mediaopt':
        if (next !== 'full-duplex' && next !== 'half-duplex')
          return { wrong: 'After mediaopt comes full-duplex or half-duplex.' };
        duplex = next === 'full-duplex' ? 'full' : 'half';
        at += 1;
        break;
      default:
        return { wrong: `${quote(word)} is none of the words that can be carried over from ifconfig: ${optionWords}.` };
    }
  }
  if (duplex !== undefined && typeof speed !== 'number')
    return {
      wrong:
        'mediaopt needs a medium with a speed before it: a card that agrees on the speed also agrees on the duplex.',
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

/** The options of a record, whose words were read when it was saved. */
export function optionsOf(text: string): LinkOptions {
  const reading = readOptions(text);
  return 'options' in reading ? reading.options : {};
}
