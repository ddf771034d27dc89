export const sAgo = (seconds: string | number) => `${seconds} s ago`;
export const minAgo = (round: string | number) => `${round} min ago`;
export const hAgo = (round: string | number) => `${round} h ago`;
export const dAgo = (round: string | number) => `${round} d ago`;
export const inLessThanAMinute = 'in less than a minute';
export const inDays = (days: string | number) => `in ${days} days`;
export const inMin = (hours: string | number, minutes: string | number) => `in ${hours}${minutes} min`;
export const units = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'];
export const yes = 'yes';
export const no = 'no';
export const none = 'none';

/** More than one of something that is counted. */
export const many = (one: string) => `${one}s`;

/** `SMB shares` for `SMB share`, `members of a link aggregate` for `member of a link aggregate`. */
export function plural(title: string): string {
  const [what = '', ...of] = title.split(/(?= of )/);
  if (of.length > 0) return plural(what) + of.join('');
  if (/(s|x|ch|sh)$/.test(title)) return `${title}es`;
  return /[^aeiou]y$/.test(title) ? `${title.slice(0, -1)}ies` : `${title}s`;
}
