import { invalid } from '../../engine/declare/errors.ts';
import { flag, inputOnly, optional, titled } from '../../engine/declare/fields.ts';
import type { Plan } from '../../engine/declare/resource.ts';
import { check, type Step } from '../../engine/plan/steps.ts';
import { makeFolder, setPermissions } from '../folders/folders.ts';

/** Full access for owner and group, read access for others. */
const defaultModes = { folderMode: 0o775, fileMode: 0o664 };

/** Not part of the document, whose shares create their folders in any case. */
export const createField = {
  create: optional(
    inputOnly(
      titled(
        'Create the folder',
        flag(false, {
          description:
            'Whether a folder that does not exist is created. With false, it is an error. Without this field the folder is created too, and a warning in the log names it.',
        }),
      ),
    ),
  ),
};

/** The folder of a new share: `field` names it, and `create` is what the client sent. */
interface ShareFolder {
  readonly path: string;
  readonly within: string;
  readonly field: string;
  readonly create: boolean | undefined;
}

/** Adds the step for the folder of a new share to the plan. A missing folder is created with the default permissions. */
export function makeShareFolder(plan: Plan, { path, within, field, create }: ShareFolder): void {
  if (create === false) plan.first(folderExists(path, field));
  const warning = create === undefined ? 'a share created its folder, which did not exist' : undefined;
  const title = `create the folder ${path}`;
  plan.first(makeFolder({ title, path, within, mode: defaultModes.folderMode, warning }));
}

function folderExists(path: string, field: string): Step {
  return check({
    title: `the folder ${path} exists`,
    claims: ['storage'],
    async holds({ files }) {
      if ((await files.kind(path)) === undefined)
        throw invalid({ [field]: [`The folder ${path} does not exist. Send create: true to create it.`] });
    },
  });
}

/** Gives the default permissions to everything in a folder. This cannot be undone, so it comes last. */
export function setDefaultPermissions(plan: Plan, path: string, within: string): void {
  plan.last(
    setPermissions(`set the default permissions in ${path}`, path, { within, ...defaultModes, recursive: true }),
  );
}
