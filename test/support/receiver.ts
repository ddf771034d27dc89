/**
 * A receiver of webhooks as a process of its own: `node test/support/receiver.ts FAULTS SEED`. It verifies signatures as
 * https://www.standardwebhooks.com/ says, with the secrets that it reads from its input, and reports each request as a
 * line. With faults it also ends connections before and after it has accepted an event, and answers 503.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createInterface } from 'node:readline';
import { randomFrom } from '../crash/daemon.ts';

const [, , faults = '0', seed = '1'] = process.argv;
const random = randomFrom(Number(seed));
const secrets: string[] = [];
const accepted = new Set<string>();

const report = (line: object) => void process.stdout.write(`${JSON.stringify(line)}\n`);

/** Whether one of the signatures is that of the id, the time and the body. */
function isSigned(headers: IncomingHttpHeaders, body: string): boolean {
  const id = String(headers['webhook-id']);
  const timestamp = String(headers['webhook-timestamp']);
  if (!/^\d+$/.test(timestamp) || id.includes('.')) return false;
  const given = String(headers['webhook-signature']).split(' ');
  return secrets.some((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    const right = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`, 'utf8').digest();
    return given.some((one) => {
      const [version, signature = ''] = one.split(',');
      const sent = Buffer.from(signature, 'base64');
      return version === 'v1' && sent.length === right.length && timingSafeEqual(sent, right);
    });
  });
}

function receive(request: IncomingMessage, response: ServerResponse, body: string): void {
  const id = String(request.headers['webhook-id']);
  const parsed: unknown = JSON.parse(body);
  const at = Number(request.headers['webhook-timestamp']);
  const note = (outcome: string) => report({ id, outcome, at, signed: isSigned(request.headers, body), body: parsed });
  const chance = random() / Number(faults);
  if (chance < 0.3) {
    note('cut before');
    request.socket.destroy();
  } else if (chance < 0.6) {
    note('unavailable');
    response.writeHead(503).end();
  } else {
    const isFirst = !accepted.has(id);
    accepted.add(id);
    note(isFirst ? 'accepted' : 'repeated');
    if (chance < 1) request.socket.destroy();
    else response.writeHead(204).end();
  }
}

createInterface({ input: process.stdin })
  .on('line', (secret) => report({ secrets: secrets.push(secret) }))
  .on('close', () => process.exit());

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (part: string) => {
    body += part;
  });
  request.on('end', () => receive(request, response, body));
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') report({ port: address.port });
});
