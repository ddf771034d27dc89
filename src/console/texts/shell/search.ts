export const nothingHasThisName = 'Nothing has this name.';
export const found = (found: string | number) => `${found} found`;
export const findLabel = 'Find a share, a setting, a disk, an action';
export const findPlaceholder = 'Find a share, a setting, a disk, an action…';
export const whatWasFound = 'What was found';

/** Kinds of what was found. */
export const record = 'record';
export const list = 'list';
export const setting = 'setting';
export const action = 'action';
