import { parentPort } from 'node:worker_threads';
import type { Question, Reply } from './passwords.ts';
import { completed, hashedPassword, isPassword } from './sha-crypt.ts';

parentPort?.on('message', (question: Question) => {
  const answer =
    'hash' in question
      ? completed(hashedPassword(question.hash))
      : completed(isPassword(question.verify, question.against));
  parentPort?.postMessage({ id: question.id, answer } satisfies Reply);
});
