import qrcode from 'qrcode-generator';

/** Modules of white around the code (ISO/IEC 18004). */
const margin = 4;

/** A text of ASCII as a QR code: an SVG image without scripts and styles, of any size. */
export function qrCode(text: string): string {
  const code = qrcode(0, 'M');
  code.addData(text);
  code.make();
  const count = code.getModuleCount();
  const rows = Array.from({ length: count }, (_, row) => {
    const dark = Array.from({ length: count }, (_, column) => (code.isDark(row, column) ? '#' : ' ')).join('');
    return [...dark.matchAll(/#+/g)].map(
      ({ 0: run, index }) => `M${index + margin} ${row + margin}h${run.length}v1h-${run.length}z`,
    );
  });
  const size = count + 2 * margin;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges">`,
    `<path fill="#fff" d="M0 0h${size}v${size}h-${size}z"/><path d="${rows.flat().join('')}"/></svg>`,
  ].join('');
}
