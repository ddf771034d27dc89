import fc from 'fast-check';

/** The first code point of the surrogates, which are no characters, and how many there are. */
const surrogates = { from: 0xd800, count: 0x800 } as const;

/**
 * Any character, drawn like the unit `binary` of fast-check. That makes a table of a million characters, which takes half
 * a second and 150 MB, to find out which of its dangerous texts consist of them.
 */
export const anyCharacter = fc.integer({ min: 0, max: 0x10ffff - surrogates.count }).map(
  (index) => String.fromCodePoint(index < surrogates.from ? index : index + surrogates.count),
  (text) => {
    const [character, ...others] = typeof text === 'string' ? text : '';
    const point = character?.codePointAt(0);
    const isSurrogate = point !== undefined && point >= surrogates.from && point < surrogates.from + surrogates.count;
    if (point === undefined || isSurrogate || others.length > 0) throw new Error('Expected one character.');
    return point < surrogates.from ? point : point - surrogates.count;
  },
);
