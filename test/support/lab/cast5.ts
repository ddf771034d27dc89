import { spawn } from 'node:child_process';

/**
 * CAST5 in CBC mode, which AFP uses for passwords. The OpenSSL in Node lacks it, but the program `openssl` has it.
 */
export function cast5(direction: 'encrypt' | 'decrypt', key: Buffer, start: string, bytes: Buffer): Promise<Buffer> {
  const words = [
    'enc',
    '-cast5-cbc',
    direction === 'encrypt' ? '-e' : '-d',
    '-nopad',
    '-K',
    key.toString('hex'),
    '-iv',
    Buffer.from(start).toString('hex'),
  ];
  return new Promise((resolve, reject) => {
    const child = spawn('openssl', [...words, '-provider', 'legacy', '-provider', 'default'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const parts: Buffer[] = [];
    child.stdout.on('data', (part: Buffer) => parts.push(part));
    child.on('error', reject);
    child.on('close', (status) =>
      status === 0 ? resolve(Buffer.concat(parts)) : reject(new Error(`openssl ended with ${status}`)),
    );
    child.stdin.end(bytes);
  });
}
