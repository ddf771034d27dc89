/** A request that was refused or failed. */
export class HoldfastError extends Error {
  override readonly name = 'HoldfastError';
  readonly status: number;
  /** The answer, as JSON if it is JSON: the problems by field, or a sentence. */
  readonly body: unknown;
  /** Under which the log of the appliance has it. */
  readonly request: string | undefined;

  constructor(status: number, body: unknown, request?: string) {
    super(`${status}: ${sentenceOf(body)}`);
    this.status = status;
    this.body = body;
    this.request = request;
  }
}

function sentenceOf(body: unknown): string {
  if (typeof body === 'string') return body;
  if (typeof body !== 'object' || body === null) return 'The request failed.';
  // A problem of RFC 9457 has its sentence in one member, and members that are no problems of fields.
  if ('detail' in body && typeof body.detail === 'string') return body.detail;
  return Object.entries(body)
    .map(([name, value]) => {
      const text = Array.isArray(value) ? value.join(' ') : typeof value === 'string' ? value : JSON.stringify(value);
      return ['error', 'error_message', '__all__', 'detail'].includes(name) ? text : `${name}: ${text}`;
    })
    .join(' ');
}
