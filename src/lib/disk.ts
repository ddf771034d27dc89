/** The ATA code of a standby timer in minutes: in steps of 5 seconds up to 20 minutes, and of 30 minutes above. */
export function standbyCode(minutes: number): number {
  return minutes <= 20 ? minutes * 12 : 240 + Math.round(minutes / 30);
}
