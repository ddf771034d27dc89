export const thereIsNoResource = (path: string | number) => `There is no resource ${path}.`;
export const theForm = 'the form';
export const the = (title: string | number) => `the ${title}`;
export const saving = 'Saving …';
export const created = 'Created';
export const changed = 'Changed';
export const newIt = (title: string | number) => `New ${title}`;
export const draftNothingHasHappenedYet = 'Draft · nothing has happened yet';
export const somebodyElseHasChangedThisMeanwhile =
  'Somebody else has changed this meanwhile. Saving is refused until you have taken over the new values.';
export const takeTheNewValuesKeepMine = 'Take the new values, keep mine';
export const fields = 'Fields';
export const itHasNoFieldsThatCan = 'It has no fields that can be set.';
export const save = 'Save';
export const preview = 'Preview';
export const discard = 'Discard';
export const canBeUndone = 'can be undone';
export const changesTheMachineDirectly = 'changes the machine directly';
