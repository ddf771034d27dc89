/** PNG pictures with a palette: a page has few colours, so its picture takes less than half of the space. */
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const most = 256;

interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Red, green and blue of each pixel as one number. */
  readonly colours: Uint32Array;
}

/** The same picture with the 256 colours that it has most of; each other colour, at edges of text, is the nearest one. */
export function withPalette(png: Buffer): Buffer {
  const { width, height, colours } = pixelsIn(png);
  const counts = new Map<number, number>();
  for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const palette = [...counts].toSorted(([, a], [, b]) => b - a).map(([colour]) => colour);
  palette.length = Math.min(palette.length, most);
  const indexes = new Map([...counts.keys()].map((colour) => [colour, nearest(palette, colour)]));
  const rows = Buffer.alloc(height * (width + 1));
  for (let at = 0; at < colours.length; at += 1)
    rows[at + Math.floor(at / width) + 1] = indexes.get(colours[at] ?? 0) ?? 0;
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    signature,
    chunk('IHDR', head),
    chunk('PLTE', Buffer.from(palette.flatMap(partsOf))),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const partsOf = (colour: number): readonly [number, number, number] => [
  colour >> 16,
  (colour >> 8) & 255,
  colour & 255,
];

function nearest(palette: readonly number[], colour: number): number {
  const [red, green, blue] = partsOf(colour);
  let best = { index: 0, distance: Number.POSITIVE_INFINITY };
  for (const [index, one] of palette.entries()) {
    const [r, g, b] = partsOf(one);
    const distance = (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2;
    if (distance < best.distance) best = { index, distance };
  }
  return best.index;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(data.length, 0);
  whole.set(body, 4);
  whole.writeUInt32BE(crc32(body), body.length + 4);
  return whole;
}

/** Reads a picture of 8 bits for each of red, green, blue and perhaps opacity, as browsers write them. */
function pixelsIn(png: Buffer): Pixels {
  const size = { width: 0, height: 0, bytes: 4 };
  const data: Buffer[] = [];
  for (let at = signature.length; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const type = png.toString('latin1', at + 4, at + 8);
    const content = png.subarray(at + 8, at + 8 + png.readUInt32BE(at));
    if (type === 'IHDR') {
      size.width = content.readUInt32BE(0);
      size.height = content.readUInt32BE(4);
      size.bytes = content[9] === 6 ? 4 : 3;
    }
    if (type === 'IDAT') data.push(content);
  }
  const { width, height, bytes } = size;
  const rows = unfiltered(inflateSync(Buffer.concat(data)), width * bytes, bytes);
  const colours = Uint32Array.from({ length: width * height }, (_, index) => rows.readUIntBE(index * bytes, 3));
  return { width, height, colours };
}

/** Undoes the filter of each row, which PNG names in the byte before the row. */
function unfiltered(raw: Buffer, length: number, bytes: number): Buffer {
  const height = raw.length / (length + 1);
  const rows = Buffer.alloc(height * length);
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (length + 1)] ?? 0;
    for (let x = 0; x < length; x += 1) {
      const at = y * length + x;
      const left = x >= bytes ? (rows[at - bytes] ?? 0) : 0;
      const above = y > 0 ? (rows[at - length] ?? 0) : 0;
      const corner = x >= bytes && y > 0 ? (rows[at - length - bytes] ?? 0) : 0;
      const expected = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter] ?? 0;
      rows[at] = (raw[y * (length + 1) + 1 + x] ?? 0) + expected;
    }
  }
  return rows;
}

function paeth(left: number, above: number, corner: number): number {
  const estimate = left + above - corner;
  const [toLeft, toAbove, toCorner] = [left, above, corner].map((one) => Math.abs(estimate - one));
  if (toLeft === undefined || toAbove === undefined || toCorner === undefined) return left;
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : corner;
}
