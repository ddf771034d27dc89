/** How ATA writes the minutes of a standby timer: in steps of 5 seconds up to 20 minutes, of half an hour from there. */
export function standbyCode(minutes: number): number {
  return minutes <= 20 ? minutes * 12 : 240 + Math.round(minutes / 30);
}
