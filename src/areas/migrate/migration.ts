/** From the upload to the proposed file. */

import type { Kind } from '../file/kinds.ts';
import { type Proposal, proposalText, type Remark, type Writing } from '../file/proposal.ts';
import { type Carried, carry, type Left } from './carry.ts';
import type { OldDatabase } from './database.ts';
import type { Target } from './mapping.ts';
import { mappings } from './mappings.ts';

export interface Migration extends Carried {
  readonly text: string;
}

export async function migrated(
  old: OldDatabase,
  kinds: readonly Kind[],
  target: Omit<Target, 'old' | 'keyOf'>,
  writing: Writing,
): Promise<Migration> {
  const carried = await carry(old, mappings, kinds, target);
  const proposal: Proposal = {
    kinds,
    records: carried.records,
    remarks: carried.left.map(remarkOf),
    head: headOf(old),
  };
  return { ...carried, text: await proposalText(proposal, writing) };
}

function headOf({ version, hasKey }: OldDatabase): readonly string[] {
  return [
    `Proposed from the configuration of FreeNAS or TrueNAS CORE ${version}.`,
    'Read it, change what does not suit you, then: holdfast diff -f FILE, holdfast apply -f FILE --plan, holdfast apply -f FILE.',
    'Comments say what was not carried, why, and what to do.',
    ...(hasKey ? [] : ['The key of the old appliance was not given: its encrypted secrets are missing.']),
  ];
}

function remarkOf({ kind, key, table, row, column, reason, remedy }: Left): Remark {
  const place = [table, row, column].filter((one) => one !== '').join(' ');
  return { kind, key, text: `${place}: ${reason} ${remedy}` };
}
