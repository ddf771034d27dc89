import { volumeOf, volumesFolder } from '../../engine/declare/formats.ts';
import type { Operations } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';

/**
 * Why root must not use what is at this path of a volume: another account could replace it, with a link for example, and
 * so choose what root runs or shows. Undefined if none can.
 */
export async function exposureProblem(
  operations: Operations,
  path: string,
  { itself = false }: { readonly itself?: boolean } = {},
): Promise<string | undefined> {
  const volume = volumeOf(path, operations.world.facts);
  if (volume === undefined) return undefined;
  const within = `${volumesFolder}/${volume}`;
  const found = await operations.ask(`look at ${path}`, ({ files }) => files.exposure(path, { within, itself }));
  if (found === undefined) return undefined;
  return found.kind === 'link'
    ? `${quote(found.at)} is a link. Send the path that it leads to.`
    : `Accounts other than root may write to ${quote(found.at)}, and so replace ${quote(path)}. Expected a path in folders to which only root may write.`;
}
