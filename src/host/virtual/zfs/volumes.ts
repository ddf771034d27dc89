import { HostError } from '../../ports/index.ts';
import { shapesOf } from './groups.ts';
import { bytes, settingsAfterChange, type Values } from './properties.ts';
import type { DatasetRecord, PoolRecord } from './record.ts';
import { volumeReservation } from './space.ts';

/** A volume's settings after a change. A reservation of the whole volume follows a change of its size. */
export function changedVolume(
  dataset: DatasetRecord,
  pool: PoolRecord,
  changes: Values,
  refuse: (reason: string) => string,
): Values {
  const whole = (values: Values) =>
    String(volumeReservation(bytes(values, 'volsize'), Number(values.volblocksize ?? '16384'), shapesOf(pool.groups)));
  const { refreservation, ...others } = changes;
  const resized = settingsAfterChange(dataset.name, 'volume', dataset.properties, others);
  const volsize = bytes(resized, 'volsize');
  const blocksize = Number(resized.volblocksize ?? '16384');
  if (volsize === 0 || volsize % blocksize !== 0)
    throw new HostError(refuse(`'volsize' must be a multiple of volume block size (${blocksize / 1024}K)`));
  const follows =
    refreservation === undefined
      ? dataset.properties.refreservation === whole(dataset.properties)
      : isWhole(refreservation);
  const asked = follows ? { refreservation: whole(resized) } : refreservation === undefined ? {} : { refreservation };
  const properties = settingsAfterChange(dataset.name, 'volume', resized, asked);
  mustFitVolume(properties, whole(properties), refuse);
  return properties;
}

export function isWhole(refreservation: string): boolean {
  return refreservation === 'auto';
}

export function mustFitVolume(properties: Values, whole: string, refuse: (reason: string) => string): void {
  const volsize = bytes(properties, 'volsize');
  if (bytes(properties, 'reservation') > volsize)
    throw new HostError(refuse("'reservation' is greater than current volume size"));
  if (properties.refreservation !== whole && bytes(properties, 'refreservation') > volsize)
    throw new HostError(refuse("'refreservation' is greater than current volume size"));
}
