import { Forbidden } from '../declare/access.ts';
import type { Operations } from '../declare/resource.ts';

/** The operations of a principal that is confined to a dataset: changes, which are judged by their effect. */
export function confined(operations: Operations): Operations {
  const forbidden = (title: string) => new Forbidden(`A key with a dataset may not ${title}.`);
  return {
    get world() {
      return operations.world;
    },
    actor: operations.actor,
    now: () => operations.now(),
    hashPassword: (password) => operations.hashPassword(password),
    verifyPassword: (password, against) => operations.verifyPassword(password, against),
    change: (title, make) => operations.change(title, make),
    onlyChange: (title, make) => operations.onlyChange(title, make),
    ask: (title, question) => operations.ask(title, question),
    work: (title) => Promise.reject(forbidden(title)),
    perform: ({ title }) => Promise.reject(forbidden(title)),
    together: (title, run) =>
      operations.together(title, (attempt) => run((request) => attempt((inside) => request(confined(inside))))),
    exchange: (title) => Promise.reject(forbidden(title)),
    background({ title }) {
      throw forbidden(title);
    },
  };
}
