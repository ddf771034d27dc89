/**
 * tgtd's management protocol: the records that tgtadm writes to its socket (usr/tgtadm.h of tgt). tgtadm itself accepts
 * secrets only as arguments, which every user of the machine could read.
 */

const modes = { system: 0, target: 1, device: 2, portal: 3, connection: 6, account: 7 } as const;
const operations = { new: 0, delete: 1, show: 2, bind: 3, unbind: 4, update: 5 } as const;

export interface Request {
  readonly mode: keyof typeof modes;
  readonly op: keyof typeof operations;
  /** Number of the target; without it, all targets, or discovery. */
  readonly tid?: number;
  readonly session?: number;
  readonly connection?: number;
  readonly lun?: number;
  /** Whether the target authenticates itself by the account. */
  readonly outgoing?: boolean;
  readonly words?: string;
}

const headLength = 120;
const everyLun = 0xffffffffffffffffn;

/** A request as bytes: numbers in the machine's byte order, then the parameters and a zero. */
export function encoded({
  mode,
  op,
  tid = -1,
  session = 0,
  connection = 0,
  lun,
  outgoing = false,
  words,
}: Request): Buffer {
  const text = words === undefined ? Buffer.alloc(0) : Buffer.from(`${words}\0`);
  const head = Buffer.alloc(headLength);
  head.writeUInt32LE(modes[mode], 0);
  head.writeUInt32LE(operations[op], 4);
  head.write('iscsi', 8, 'latin1');
  head.writeUInt32LE(headLength + text.length, 72);
  head.writeInt32LE(tid, 76);
  head.writeBigUInt64LE(BigInt(session), 80);
  head.writeBigUInt64LE(lun === undefined ? everyLun : BigInt(lun), 88);
  head.writeUInt32LE(connection, 96);
  head.writeUInt32LE(outgoing ? 1 : 0, 108);
  return Buffer.concat([head, text]);
}

export const answerHeadLength = 8;

/** The length that the head of an answer gives, head included. */
export function lengthOf(head: Buffer): number {
  return head.readUInt32LE(4);
}

/** The text of an answer, or the number of its error. */
export function decoded(answer: Buffer): { readonly fault: number; readonly text: string } {
  return {
    fault: answer.readUInt32LE(0),
    text: answer.subarray(answerHeadLength).toString('utf8').replace(/\0+$/, ''),
  };
}

/** The error numbers that Holdfast handles. */
export const fault = { noTarget: 4, exists: 14, noAccount: 15, targetInUse: 19, deviceInUse: 20 } as const;

const said: Readonly<Record<number, string>> = {
  4: 'there is no such target',
  5: 'there is no such LUN',
  9: 'the target already exists',
  10: 'the LUN already exists',
  14: 'it already exists',
  15: 'there is no such user',
  17: 'the request is invalid',
  18: 'the target already has an outgoing user',
  19: 'an initiator is connected to the target',
  20: 'an initiator uses the LUN',
};

export function faultWords(number: number): string {
  return said[number] ?? `it answered with the error ${number}`;
}
