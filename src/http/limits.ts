/** Limits on the resources that requests may use. Tests set them lower. */
export interface Limits {
  /** Connections at once, not counting those from this machine. */
  readonly connections: number;
  /** Bytes of all bodies that are being read or processed. */
  readonly bodyBytes: number;
  /** Milliseconds within which a request must be complete. */
  readonly requestTime: number;
  /** Milliseconds that the rest of a body may take to arrive after its request was answered. */
  readonly restTime: number;
}

const MiB = 1024 * 1024;

export const limits: Limits = Object.freeze({
  connections: 1024,
  bodyBytes: 64 * MiB,
  requestTime: 120_000,
  restTime: 2000,
});

/** Bytes of an ordinary body: more than the fields' limits, so that the answer can name the field that is too long. */
const ordinary = MiB;

/** Bytes for a whole configuration, in base64 and JSON. */
const configuration = 32 * MiB;

/** Bytes for certificate chains with keys, and for keytabs: fields take up to 400 kB, which JSON escapes may double. */
const files = 4 * MiB;

const larger: ReadonlyMap<string, number> = new Map([
  ['api/holdfast/v1/config/restore', configuration],
  ['api/holdfast/v1/plan', files],
  ...['system/certificate', 'system/certificateauthority', 'directoryservice/kerberoskeytab'].map(
    (path) => [`api/v1.0/${path}`, files] as const,
  ),
]);

/** The maximum number of bytes of a request's body. The path has no slashes around it. */
export function bodyLimit(path: string): number {
  const exact = larger.get(path);
  if (exact !== undefined) return exact;
  // An action or a record below one of these paths: `system/certificate/import`, `directoryservice/kerberoskeytab/1`.
  for (const [parent, bytes] of larger) if (path.startsWith(`${parent}/`)) return bytes;
  return ordinary;
}
