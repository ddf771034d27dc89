export {
  type CallOptions,
  type Client,
  type ClientOptions,
  type Credentials,
  createClient,
  type Exchange,
} from './client.ts';
export { HoldfastError } from './error.ts';
export type { Event, EventOptions } from './events.ts';
export type { Job } from './jobs.ts';
export type { Answer, Body, Method, Operation, PathWith } from './operations.ts';
export type { components, paths } from './schema.ts';
