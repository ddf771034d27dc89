import { commentProperty, type Dataset } from '../../ports/zfs.ts';
import { expectSuccess } from '../runner.ts';
import { isGone, type Programs } from './programs.ts';
import { readComments } from './read-datasets.ts';

/**
 * The comments of datasets. OpenZFS 2.3's JSON output leaves out characters beyond U+FFFF; its plain output has them. A
 * program for that is run only if JSON shows another comment than the one that is known of a dataset, and for all of them
 * with each look at everything: another program may have changed just such a character.
 */
export class Comments {
  readonly #programs: Programs;
  #known = new Map<string, { readonly shown: string; readonly whole: string }>();

  constructor(programs: Programs) {
    this.#programs = programs;
  }

  /** Notes a comment that was set. */
  note(name: string, comment: string | undefined): void {
    if (comment !== undefined) this.#known.set(name, { shown: asShown(comment), whole: comment });
  }

  /** The datasets with their whole comments; `isAll` if there are no others. */
  async complete(datasets: readonly Dataset[], isAll: boolean): Promise<readonly Dataset[]> {
    if (isAll) this.#known = new Map();
    const unknown = datasets.filter(
      ({ name, comment }) => comment !== undefined && this.#known.get(name)?.shown !== comment,
    );
    if (unknown.length > 0) await this.#read(unknown, isAll);
    return datasets.map((one) =>
      one.comment === undefined
        ? one
        : Object.freeze({ ...one, comment: this.#known.get(one.name)?.whole ?? one.comment }),
    );
  }

  async #read(datasets: readonly Dataset[], isAll: boolean): Promise<void> {
    const options = ['-H', '-t', 'filesystem,volume', '-s', 'local,received', '-o', 'name,value'];
    const names = datasets.map(({ name }) => name);
    const argv = ['zfs', 'get', ...options, commentProperty, ...(isAll ? [] : names)];
    const plain = await this.#programs.run(...argv);
    if (plain.status !== 0 && !isGone(plain)) expectSuccess(plain, ['zfs', 'get', commentProperty]);
    const comments = readComments(plain.stdout, new Set(names));
    for (const { name, comment = '' } of datasets)
      this.#known.set(name, { shown: comment, whole: comments.get(name) ?? comment });
  }
}

/** A comment as JSON shows it. */
const asShown = (comment: string): string => comment.replaceAll(/[\u{10000}-\u{10ffff}]/gu, '');
