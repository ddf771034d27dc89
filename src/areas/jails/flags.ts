import { parseSize } from '../../lib/size.ts';
import { quote } from '../../lib/text.ts';

/** What a jail may use and do, read from its flags. What is undefined has no limit of its own. */
export interface JailLimits {
  /** Bytes. */
  readonly memory?: number;
  /** Percent of one processor. */
  readonly cpu?: number;
  /** Processes and threads. */
  readonly tasks?: number;
  /** Whether its programs may write packets themselves, as ping does. */
  readonly rawSockets: boolean;
}

/** The flags there are, for messages and documents. */
export const flagWords = 'memory=512M, cpu=50%, tasks=200 and allow.raw_sockets=0';

/** Reads flags with commas between them, or says what is wrong with the first that means nothing here. Later ones win. */
export function readFlags(text: string): { readonly limits: JailLimits } | { readonly wrong: string } {
  let limits: JailLimits = { rawSockets: true };
  for (const flag of text.split(/[,\s]+/).filter((one) => one !== '')) {
    const [name = '', value = ''] = flag.split(/=(.*)/s);
    const bytes = parseSize(value);
    if (name === 'memory' && bytes !== undefined && bytes >= 4 * 1024 ** 2) limits = { ...limits, memory: bytes };
    else if (name === 'cpu' && /^[1-9]\d{0,4}%$/.test(value)) limits = { ...limits, cpu: Number(value.slice(0, -1)) };
    else if (name === 'tasks' && /^[1-9]\d{0,6}$/.test(value)) limits = { ...limits, tasks: Number(value) };
    else if (name === 'allow.raw_sockets' && /^(0|1|true|false)$/.test(value))
      limits = { ...limits, rawSockets: value === '1' || value === 'true' };
    else return { wrong: `${quote(flag)} is no flag of a jail: there are ${flagWords}.` };
  }
  return { limits };
}
