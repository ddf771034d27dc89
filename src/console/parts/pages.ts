/** A list of any length, of which only the pages in sight are read and kept. */
import { signal } from '@preact/signals';
import { client } from '../base/client.ts';
import { isRow, type Row, rowsIn } from '../base/json.ts';
import { refusalOf } from '../base/problem.ts';

const pageSize = 100;
/** Pages that are kept; those read longest ago go first. */
const kept = 30;
/** Milliseconds that the list has to stand still before something is read: a quick scroll passes most pages by. */
const settling = 60;

export class Pages {
  /** Rows of the list as far as it is known. A list that is chosen from grows while it is read. */
  readonly length = signal<number | undefined>(undefined);
  readonly isWhole = signal(true);
  readonly refused = signal<string | undefined>(undefined);
  /** Changes whenever a page has come. */
  readonly version = signal(0);
  readonly #address: string;
  readonly #words: URLSearchParams;
  readonly #pages = new Map<number, readonly Row[]>();
  /** Pages that have to be read again, and are shown as they were until then. */
  #old = new Set<number>();
  #wanted: readonly number[] = [0];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reading: AbortController | undefined;

  constructor(address: string, words: URLSearchParams) {
    this.#address = address;
    this.#words = words;
  }

  /** The row, if its page is there. */
  row(index: number): Row | undefined {
    return this.#pages.get(Math.floor(index / pageSize))?.[index % pageSize];
  }

  /** Says which rows are in sight. */
  show(from: number, to: number): void {
    const first = Math.floor(from / pageSize);
    const last = Math.floor(Math.max(from, to - 1) / pageSize);
    this.#wanted = Array.from({ length: last - first + 1 }, (_, index) => first + index);
    clearTimeout(this.#timer);
    if (this.#missing() !== undefined) this.#timer = setTimeout(() => void this.#read(), settling);
  }

  /** Reads again what is in sight, and the rest when it comes into sight. */
  again(): void {
    this.#old = new Set(this.#pages.keys());
    void this.#read();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#reading?.abort();
  }

  #missing(): number | undefined {
    return this.#wanted.find((page) => !this.#pages.has(page) || this.#old.has(page));
  }

  async #read(): Promise<void> {
    this.#reading?.abort();
    const reading = new AbortController();
    this.#reading = reading;
    try {
      for (let page = this.#missing(); page !== undefined; page = this.#missing()) {
        const words = new URLSearchParams(this.#words);
        words.set('limit', String(pageSize));
        words.set('offset', String(page * pageSize));
        const { body, headers } = await client.exchange('GET', `${this.#address}?${words}`, { signal: reading.signal });
        if (reading.signal.aborted) return;
        this.#keep(page, isRow(body) ? [body] : rowsIn(body), headers);
      }
    } catch (error) {
      if (!reading.signal.aborted) this.refused.value = refusalOf(error).sentence;
    }
  }

  #keep(page: number, rows: readonly Row[], headers: Headers): void {
    this.#old.delete(page);
    this.#pages.delete(page);
    this.#pages.set(page, rows);
    for (const one of this.#pages.keys()) {
      if (this.#pages.size <= kept) break;
      if (!this.#wanted.includes(one)) this.#pages.delete(one);
    }
    const total = /\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1];
    const end = page * pageSize + rows.length;
    if (total !== undefined) {
      this.length.value = Number(total);
    } else {
      // The appliance does not count what it chooses from a list; a link to a next page says that there is more.
      const hasMore = headers.has('link');
      this.isWhole.value = !hasMore && (this.isWhole.value || end >= (this.length.value ?? 0));
      this.length.value = hasMore ? Math.max(this.length.value ?? 0, end + pageSize) : end;
    }
    this.refused.value = undefined;
    this.version.value += 1;
  }
}
