import { areas } from './areas/index.ts';
import { notShown, operations } from './operations.ts';
import { areaOf, type Check, type Report } from './report.ts';
import type { Step } from './resource.ts';
import { walk } from './walk.ts';
import { type Target, World } from './world.ts';

/** Holds a server against the document, from the first area to the last. */
export async function run(target: Target): Promise<Report> {
  const world = new World(target);
  const checks: Check[] = [];
  for (const resource of areas.flatMap(({ resources }) => resources)) {
    const step: Step = async (title, perform) => {
      const note = (why: string | undefined) =>
        void checks.push({ area: areaOf(resource.path), resource: resource.path, title, why });
      try {
        const result = await perform();
        note(undefined);
        return result;
      } catch (error) {
        note(error instanceof Error ? error.message : String(error));
        return undefined;
      }
    };
    await walk(resource, step, world);
  }
  return { checks, operations, missing: notShown(world.exchanges) };
}
