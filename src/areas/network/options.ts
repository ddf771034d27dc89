import { quote } from '../../lib/text.ts';

/** What people tell a link by words of ifconfig, read. What is undefined was not said. */
export interface LinkOptions {
  readonly up?: boolean;
  readonly mtu?: number;
  readonly promisc?: boolean;
  readonly arp?: boolean;
  /** Hardware address in lower case with colons. */
  readonly mac?: string;
}

/** The words there are, for messages and documents. */
export const optionWords = 'up, down, mtu N, promisc, -promisc, arp, -arp, ether ADDRESS, media autoselect';

/** Reads the words, or says what is wrong with the first that cannot be carried over. Later words win. */
export function readOptions(text: string): { readonly options: LinkOptions } | { readonly wrong: string } {
  const options: { -readonly [K in keyof LinkOptions]: LinkOptions[K] } = {};
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
        if (mtu < 68 || mtu > 65_535) return { wrong: `After mtu comes a number from 68 to 65535, not ${next === undefined ? 'nothing' : quote(next)}.` };
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
        if (next !== 'autoselect' && next !== 'auto')
          return { wrong: 'The only media that can be asked for is autoselect: cards on Linux agree on speed and duplex with the other side by themselves.' };
        at += 1;
        break;
      default:
        return { wrong: `${quote(word)} is none of the words that can be carried over from ifconfig: ${optionWords}.` };
    }
  }
  return { options };
}

/** The options of a record, whose words were read when it was saved. */
export function optionsOf(text: string): LinkOptions {
  const reading = readOptions(text);
  return 'options' in reading ? reading.options : {};
}
