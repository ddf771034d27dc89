import type { paths } from './schema.ts';

export type Method = 'get' | 'post' | 'put' | 'delete';

/** The addresses that have this method. */
export type PathWith<M extends Method> = {
  [P in keyof paths]: paths[P] extends { readonly [K in M]: { responses: unknown } } ? P : never;
}[keyof paths];

export type Operation<P extends keyof paths, M extends Method> = paths[P] extends { readonly [K in M]: infer O }
  ? O
  : never;

/** The parameters of the path: `{ key: '3' }` for `/api/v1.0/sharing/nfs/{key}/`. */
export type PathOf<O> = O extends { parameters: { path: infer Path } } ? Path : undefined;

export type QueryOf<O> = O extends { parameters: { query?: infer Query } } ? Query : never;

export type Body<O> = O extends { requestBody?: { content: { 'application/json': infer B } } } ? B : never;

type Good = 200 | 201 | 202 | 203 | 204;

/** What a request that succeeded is answered. */
export type Answer<O> = O extends { responses: infer R }
  ? { [S in keyof R & Good]: R[S] extends { content: infer C } ? C[keyof C] : undefined }[keyof R & Good]
  : never;
