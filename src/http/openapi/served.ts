import type { JsonObject } from '../../lib/json.ts';

/** An answer in one word, and as an object for requests with a credential. */
const state = (description: string, words: readonly string[], reasons: JsonObject = {}): JsonObject => {
  const status: JsonObject = {
    type: 'string',
    enum: [...words],
    description: 'The state.',
    examples: [words[0] ?? ''],
  };
  return {
    description,
    content: {
      'text/plain': { schema: { type: 'string', enum: [...words] } },
      'application/json': { schema: { type: 'object', properties: { status, ...reasons }, required: ['status'] } },
    },
  };
};

const reason = (description: string, example: string): JsonObject => ({
  type: 'string',
  description,
  examples: [example],
});

/** What is served beside the two interfaces, at the addresses that other programs expect. */
export const servedPaths: JsonObject = {
  '/metrics': {
    parameters: [],
    get: {
      operationId: 'getMetrics',
      tags: ['monitoring'],
      summary: 'Shows metrics for Prometheus: what the daemon knows, without a look at the machine.',
      description:
        'The text format of Prometheus, or OpenMetrics 1.0 for clients that prefer it by Accept. The role scrape may send this request and no other.',
      responses: {
        '200': {
          description: 'The metrics.',
          content: {
            'text/plain': { schema: { type: 'string' } },
            'application/openmetrics-text': { schema: { type: 'string' } },
          },
        },
        '401': { $ref: '#/components/responses/Unauthorized' },
        '403': { $ref: '#/components/responses/Forbidden' },
        '429': { $ref: '#/components/responses/Busy' },
      },
    },
  },
  '/healthz': {
    parameters: [],
    get: {
      operationId: 'getHealth',
      tags: ['monitoring'],
      summary: 'Answers as long as the daemon runs; also without a credential.',
      security: [{}, { basic: [] }, { bearer: [] }],
      responses: { '200': state('It runs.', ['alive']) },
    },
  },
  '/readyz': {
    parameters: [],
    get: {
      operationId: 'getReadiness',
      tags: ['monitoring'],
      summary: 'Answers whether changes are possible; without a credential in one word, with one also why not.',
      security: [{}, { basic: [] }, { bearer: [] }],
      responses: {
        '200': state('Changes are possible.', ['ready', 'degraded']),
        '503': state('Changes are not possible.', ['starting', 'read-only'], {
          what: reason('What the start waits for.', 'importing tank, 3 of 5'),
          reason: reason('Why changes cannot be stored.', 'The disk of the state folder is full.'),
        }),
      },
    },
  },
};

export const servedTags: readonly JsonObject[] = [
  { name: 'monitoring', description: 'What monitoring reads, outside of both interfaces.' },
];
