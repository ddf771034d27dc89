/** Where the console is: the part of the address behind `#`. No address of the appliance is needed for it. */
import { signal } from '@preact/signals';

export interface Place {
  /** `storage` for `#/storage/pool?name=tank`. */
  readonly entry: string;
  /** `pool`; empty for the page of the entry. */
  readonly page: string;
  readonly words: URLSearchParams;
}

function placeIn(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [entry = '', page = ''] = path.split('/');
  return { entry: entry || 'overview', page, words: new URLSearchParams(query) };
}

export const place = signal<Place>(placeIn(location.hash));

addEventListener('hashchange', () => {
  place.value = placeIn(location.hash);
  scrollTo(0, 0);
});

/** The address of a page: `link('storage', 'pool', { name: 'tank' })`. */
export function link(entry: string, page = '', words: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(Object.entries(words).filter(([, value]) => value !== '')).toString();
  return `#/${entry}${page === '' ? '' : `/${page}`}${query === '' ? '' : `?${query}`}`;
}

export function go(address: string): void {
  location.hash = address;
}
