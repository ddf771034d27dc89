import { isObject } from './json.ts';

/** The sentences of an answer with an error, by the field that they are about where they are about one. */
export function sentencesIn(answer: unknown): Readonly<Record<string, unknown>> {
  if (!isObject(answer)) return {};
  const { code, detail, fields } = answer;
  if (typeof code !== 'string' || typeof detail !== 'string') return answer;
  return isObject(fields) ? fields : { detail };
}
