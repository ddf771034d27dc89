/**
 * A proposed configuration: what was read from other programs' files, as records of ours. It is written as a file that
 * `file/apply` takes (`areas/file/proposal.ts`), with what could not be carried as comments and as a list.
 */
import type { Facts } from '../facts/facts.ts';
import type { View } from './resource.ts';

/** Where something was read. The line is 0 if the whole file, or no file, is meant. */
export interface Origin {
  readonly file: string;
  readonly line: number;
}

export interface ProposedRecord extends Origin {
  /** Path of the resource, such as `sharing/cifs`. */
  readonly resource: string;
  /** Values by their names on the wire, with keys of records instead of ids. What is absent has its default. */
  readonly values: Readonly<Record<string, unknown>>;
}

/** A line, or something larger, that the proposed configuration does not have as it was. */
export interface NotCarried extends Origin {
  /** The line of the record that it is part of, if that is another one. */
  readonly within?: number;
  /** What stands there. Never a secret. */
  readonly text: string;
  readonly reason: string;
  /** What a person can do about it. */
  readonly toDo: string;
}

export interface Reading {
  readonly records: readonly ProposedRecord[];
  readonly notCarried: readonly NotCarried[];
}

export const emptyReading: Reading = Object.freeze({ records: [], notCarried: [] });

/** How a subsystem reads what was configured by hand: which files and programs, and a pure function of their texts. */
export interface Adoption {
  /** The files that it reads, if they are there; with a trailing `*`, every file with this prefix. */
  readonly files: readonly string[];
  /** Further files that the content of those names, such as included ones. */
  also?(files: ReadonlyMap<string, string>): readonly string[];
  /** Programs that print a configuration as they understand it. They change nothing. */
  readonly programs?: readonly (readonly string[])[];
  /** Whether files are left out that are as a package has them. */
  readonly onlyLocal?: boolean;
  /** Whether it also reads while Holdfast manages the subsystem, because what was made by hand stays beside it. */
  readonly isBeside?: boolean;
  read(found: Findings): Reading;
}

export interface Findings {
  /** The content of the files by their paths. */
  readonly files: ReadonlyMap<string, string>;
  /** What the programs printed, by their first word. A program that failed is absent. */
  readonly outputs: ReadonlyMap<string, string>;
  readonly facts: Facts;
  readonly view: View;
}
