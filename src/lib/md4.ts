/** MD4 (RFC 1320), which the NT password hash needs and OpenSSL 3 no longer provides. */
export function md4(message: Uint8Array): Uint8Array {
  const length = message.length;
  const padded = new Uint8Array(((length + 8) >>> 6) * 64 + 64);
  padded.set(message);
  padded[length] = 0x80;
  const words = new DataView(padded.buffer);
  words.setUint32(padded.length - 8, length * 8, true);
  words.setUint32(padded.length - 4, Math.floor(length / 0x20000000), true);
  const state = new Uint32Array([0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476]);
  for (let block = 0; block < padded.length; block += 64) {
    let [a, b, c, d] = [at(state, 0), at(state, 1), at(state, 2), at(state, 3)];
    for (const { mix, constant, order, shifts } of rounds) {
      for (const [step, index] of order.entries()) {
        const sum = (a + mix(b, c, d) + words.getUint32(block + 4 * index, true) + constant) >>> 0;
        const shift = shifts[step % 4] ?? 0;
        [a, b, c, d] = [d, ((sum << shift) | (sum >>> (32 - shift))) >>> 0, b, c];
      }
    }
    for (const [index, value] of [a, b, c, d].entries()) state[index] = at(state, index) + value;
  }
  return new Uint8Array(state.buffer);
}

const at = (numbers: Uint32Array, index: number): number => numbers[index] ?? 0;

const rounds = [
  {
    mix: (x: number, y: number, z: number) => (x & y) | (~x & z),
    constant: 0,
    order: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    shifts: [3, 7, 11, 19],
  },
  {
    mix: (x: number, y: number, z: number) => (x & y) | (x & z) | (y & z),
    constant: 0x5a827999,
    order: [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15],
    shifts: [3, 5, 9, 13],
  },
  {
    mix: (x: number, y: number, z: number) => x ^ y ^ z,
    constant: 0x6ed9eba1,
    order: [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15],
    shifts: [3, 9, 11, 15],
  },
] as const;

/** The NT hash of a password: MD4 of its UTF-16LE encoding, as 32 upper-case hex digits. */
export function ntHash(password: string): string {
  const bytes = new Uint8Array(password.length * 2);
  const view = new DataView(bytes.buffer);
  for (let index = 0; index < password.length; index += 1) view.setUint16(index * 2, password.charCodeAt(index), true);
  return Array.from(md4(bytes), (byte) => byte.toString(16).padStart(2, '0'))
    .join('')
    .toUpperCase();
}
