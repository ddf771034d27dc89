/** The baseline for the daemon: node:http alone in a separate process, with a prepared answer for each address. */
import { createServer } from 'node:http';

export interface Prepared {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const answers = new Map<string, Prepared>();

const server = createServer((request, response) => {
  const { status, headers, body } = answers.get(`${request.method} ${request.url}`) ?? {
    status: 404,
    headers: {},
    body: '',
  };
  const answer = () => {
    response.writeHead(status, headers);
    response.end(body);
  };
  if (request.method === 'GET') return answer();
  request.resume();
  request.on('end', answer);
});

process.on('message', ([address, answer]: [string, Prepared]) => {
  answers.set(address, answer);
  process.send?.('known');
});
process.on('disconnect', () => process.exit());
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.(typeof address === 'object' && address !== null ? address.port : 0);
});
