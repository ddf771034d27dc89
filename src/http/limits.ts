/** Limits on the resources that requests may use. Tests set them lower. */
export interface Limits {
  /** Connections at once, not counting those from this machine. */
  readonly connections: number;
  /** Bytes of all bodies that are being read or processed. */
  readonly bodyBytes: number;
  /** Milliseconds within which a request must be complete. */
  readonly requestTime: number;
  /** Milliseconds that the rest of a request may take to arrive after its answer, or after the stop of the daemon began. */
  readonly restTime: number;
}

const MiB = 1024 * 1024;

export const limits: Limits = Object.freeze({
  connections: 1024,
  bodyBytes: 64 * MiB,
  requestTime: 120_000,
  restTime: 2000,
});

/** Limits on one request body. */
export interface BodyLimit {
  readonly bytes: number;
  /** Values in its JSON: each member of an object or list, and each object or list itself. */
  readonly values: number;
}

/** More bytes than the fields' limits, so that the answer can name the field that is too long. */
const ordinary: BodyLimit = { bytes: MiB, values: 10_000 };

/** A whole configuration, with about 30 values for each of 15,000 records. */
const configuration: BodyLimit = { bytes: 32 * MiB, values: 500_000 };

/** Certificate chains with keys, and keytabs: fields take up to 400 kB, which JSON escapes may double. */
const files: BodyLimit = { bytes: 4 * MiB, values: 1000 };

/** The database of an old appliance in base64. */
const upload: BodyLimit = { bytes: 18 * MiB, values: 1000 };

/** Any body of another request, and its method and path. */
const planned: BodyLimit = { bytes: files.bytes, values: ordinary.values };

const others: ReadonlyMap<string, BodyLimit> = new Map([
  ['api/holdfast/v1/config/restore', configuration],
  ['api/holdfast/v1/migrate', upload],
  ['api/holdfast/v1/plan', planned],
  ...['system/certificate', 'system/certificateauthority', 'directoryservice/kerberoskeytab'].map(
    (path) => [`api/v1.0/${path}`, files] as const,
  ),
]);

/** The limit for a request's body. The path has no slashes around it. */
export function bodyLimit(path: string): BodyLimit {
  const exact = others.get(path);
  if (exact !== undefined) return exact;
  // An action or a record below one of these paths: `system/certificate/import`, `directoryservice/kerberoskeytab/1`.
  for (const [parent, limit] of others) if (path.startsWith(`${parent}/`)) return limit;
  return ordinary;
}
