/** How much of the machine requests may take. Tests set them lower. */
export interface Limits {
  /** Connections at once, besides those of this machine itself. */
  readonly connections: number;
  /** Bytes of all bodies that are being read or worked on. */
  readonly bodyBytes: number;
  /** Milliseconds in which a whole request must have come. */
  readonly requestTime: number;
  /** Milliseconds that the rest of a request may take to come after it was answered. */
  readonly restTime: number;
}

const MiB = 1024 * 1024;

export const limits: Limits = Object.freeze({
  connections: 1024,
  bodyBytes: 64 * MiB,
  requestTime: 120_000,
  restTime: 2000,
});

/** Bytes of an ordinary body. Above the fields' own limits, so that the answer can name the field that is too long. */
const ordinary = MiB;

/** A whole configuration, in base64 and JSON. */
const configuration = 32 * MiB;

/** Chains of certificates with their keys, and keytabs: their fields take up to 400 kB, which JSON may need twice. */
const files = 4 * MiB;

const larger: ReadonlyMap<string, number> = new Map([
  ['api/holdfast/v1/config/restore', configuration],
  ['api/holdfast/v1/plan', files],
  ...['system/certificate', 'system/certificateauthority', 'directoryservice/kerberoskeytab'].map(
    (path) => [`api/v1.0/${path}`, files] as const,
  ),
]);

/** Bytes that the body of a request may have; the path is without slashes around it. */
export function bodyLimit(path: string): number {
  const exact = larger.get(path);
  if (exact !== undefined) return exact;
  // An action or a record below one of them: `system/certificate/import`, `directoryservice/kerberoskeytab/1`.
  for (const [one, bytes] of larger) if (path.startsWith(`${one}/`)) return bytes;
  return ordinary;
}
