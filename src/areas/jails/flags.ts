import { parseSize } from '../../lib/size.ts';
import { quote } from '../../lib/text.ts';

/** The limits of a jail, read from its flags. An undefined limit means no limit. */
export interface JailLimits {
  /** Bytes. */
  readonly memory?: number;
  /** Percent of one processor. */
  readonly cpu?: number;
  /** Processes and threads. */
  readonly tasks?: number;
  /** Whether programs in the jail may open raw sockets, as ping does. */
  readonly rawSockets: boolean;
}

/** The available flags, for messages and descriptions. */
export const flagWords = 'memory=512M, cpu=50%, tasks=200 and allow.raw_sockets=0';

/** Reads comma-separated flags, or reports the first invalid one. If a flag appears twice, the last one applies. */
export function readFlags(text: string): { readonly limits: JailLimits } | { readonly wrong: string } {
  let limits: JailLimits = { rawSockets: true };
  for (const flag of text.split(/[,\s]+/).filter((word) => word !== '')) {
    const [name = '', value = ''] = flag.split(/=(.*)/s);
    const bytes = parseSize(value);
    if (name === 'memory' && bytes !== undefined && bytes >= 4 * 1024 ** 2) limits = { ...limits, memory: bytes };
    else if (name === 'cpu' && /^[1-9]\d{0,4}%$/.test(value)) limits = { ...limits, cpu: Number(value.slice(0, -1)) };
    else if (name === 'tasks' && /^[1-9]\d{0,6}$/.test(value)) limits = { ...limits, tasks: Number(value) };
    else if (name === 'allow.raw_sockets' && /^(0|1|true|false)$/.test(value))
      limits = { ...limits, rawSockets: value === '1' || value === 'true' };
    else return { wrong: `${quote(flag)} is not a valid jail flag. Valid flags look like ${flagWords}.` };
  }
  return { limits };
}
