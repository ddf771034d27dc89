import assert from 'node:assert/strict';
import { test } from 'node:test';
import jsqr from 'jsqr';
import { qrCode } from '../../../src/areas/people/qr-code.ts';
import { otpauthUrl } from '../../../src/areas/people/totp.ts';

/** What a camera sees: the image with so many pixels for each module, in the runs of its path. */
function pixelsOf(svg: string, scale: number): { readonly data: Uint8ClampedArray; readonly size: number } {
  const modules = Number(/viewBox="0 0 (\d+) \1"/.exec(svg)?.[1]);
  const size = modules * scale;
  const data = new Uint8ClampedArray(size * size * 4).fill(255);
  const dark = /<path d="([^"]*)"/.exec(svg)?.[1] ?? '';
  for (const [, column, row, length] of dark.matchAll(/M(\d+) (\d+)h(\d+)v1h-\3z/g))
    for (let y = Number(row) * scale; y < (Number(row) + 1) * scale; y += 1)
      for (let x = Number(column) * scale; x < (Number(column) + Number(length)) * scale; x += 1)
        data.fill(0, (y * size + x) * 4, (y * size + x) * 4 + 3);
  return { data, size };
}

test('a reader finds the address of an authenticator program in the image', () => {
  for (const [account, machine] of [
    ['anna', 'nas'],
    ['räuber & söhne', 'a-host-name-with-many-letters-in-a-long-domain.storage.example.org'],
  ] as const) {
    const url = otpauthUrl(account, machine, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567');
    const { data, size } = pixelsOf(qrCode(url), 4);
    assert.equal(jsqr.default(data, size, size)?.data, url);
  }
});

test('the image is a page in itself: it names nothing elsewhere and runs nothing', () => {
  const svg = qrCode('otpauth://totp/nas:anna?secret=ABC&issuer=nas');
  assert.match(svg, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" [^<]*><path [^<>]*\/><path [^<>]*\/><\/svg>$/);
  assert.ok(svg.length < 8000, `${svg.length} characters`);
});
