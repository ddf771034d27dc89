/** Sentences with elements in them, such as a link: a translation can put them elsewhere in the sentence. */
import type { ComponentChildren } from 'preact';

export type Piece = ComponentChildren;

export function say(parts: TemplateStringsArray, ...pieces: readonly Piece[]): Piece {
  return parts.flatMap((part, index) => (index < pieces.length ? [part, pieces[index]] : [part]));
}
