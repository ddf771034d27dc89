import type { Shape } from './kinds.ts';
import type { World } from './world.ts';

export type Body = Readonly<Record<string, unknown>>;
export type Make = (world: World) => Body | Promise<Body>;

/** A part of the document: what it says of one path. */
export type Resource = Collection | Singleton | Story;

/** Records that are listed, made, changed and removed. */
export interface Collection {
  readonly kind: 'collection';
  readonly path: string;
  /** The documented fields of a record. */
  readonly record: Shape;
  /** A request as the document shows it. Each makes another record. */
  readonly create: Make;
  /** A subset of the fields. Absent where the document has no update. */
  readonly change?: Make;
  /** Statuses that are not 201 and 200. */
  readonly status?: { readonly created?: number; readonly changed?: number };
  /** What a record is called in paths; its id unless told. */
  readonly key?: (record: Body) => string;
  /** Sent fields that are answered in another spelling. */
  readonly respelt?: readonly string[];
  /** Fields that are never sent and follow from others. */
  readonly follow?: readonly string[];
  readonly choices?: Choices;
  readonly actions?: readonly Action[];
}

/** One record of settings. */
export interface Singleton {
  readonly kind: 'singleton';
  readonly path: string;
  readonly record: Shape;
  readonly change: Make;
  readonly respelt?: readonly string[];
  readonly choices?: Choices;
}

/** What is told step by step, because it is like nothing else. */
export interface Story {
  readonly kind: 'story';
  readonly path: string;
  readonly tell: (step: Step, world: World) => Promise<void>;
}

/** Does one thing and notes under its title how it went. What failed answers nothing. */
export type Step = <T>(title: string, run: () => Promise<T>) => Promise<T | undefined>;

/** How the members of closed lists are tried. */
export interface Choices {
  /** Fields that only a create takes. */
  readonly onCreate?: readonly string[];
  /** Further closed lists of requests, which records do not have. */
  readonly asked?: Shape;
  /** Fields that are chosen from a closed list but never sent. */
  readonly told?: readonly string[];
  /** What has to be sent along with a member. */
  readonly along?: Readonly<Record<string, (member: string | number, world: World) => Body | Promise<Body>>>;
}

/** Something done to a record. */
export interface Action {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly segment: string;
  readonly status: number;
  readonly answers: string;
  /** What the record says afterwards. */
  readonly leaves?: Body;
}

export function collection(path: string, about: Omit<Collection, 'kind' | 'path'>): Collection {
  return Object.freeze({ kind: 'collection', path, ...about });
}

export function singleton(path: string, about: Omit<Singleton, 'kind' | 'path'>): Singleton {
  return Object.freeze({ kind: 'singleton', path, ...about });
}

export function story(path: string, tell: Story['tell']): Story {
  return Object.freeze({ kind: 'story', path, tell });
}

export interface Area {
  readonly name: string;
  readonly resources: readonly Resource[];
}
