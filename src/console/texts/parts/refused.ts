import { type Piece, say } from '../say.ts';

export const nothingWasChanged = (part: Piece) => say`${part} Nothing was changed.`;
export const oneFieldIsWrong = 'One field is wrong.';
export const fieldsAreWrong = (count: string | number) => `${count} fields are wrong.`;
export const inUseBy = (title: Piece) => say`In use by ${title}`;
