import { parentPort } from 'node:worker_threads';
import { encrypt, verify } from 'unixcrypt';
import type { Question, Reply } from './passwords.ts';

parentPort?.on('message', (question: Question) => {
  const answer = 'hash' in question ? encrypt(question.hash) : verify(question.verify, question.against);
  parentPort?.postMessage({ id: question.id, answer } satisfies Reply);
});
