import { connect, type Socket } from 'node:net';

/** What the server says of itself to whoever asks. */
export interface AfpStatus {
  readonly versions: readonly string[];
  /** The ways to log in. */
  readonly methods: readonly string[];
}

/** An answer's error code, 0 for none, and its data. */
interface Answer {
  readonly code: number;
  readonly data: Buffer;
}

const dsi = { command: 2, status: 3, open: 4 } as const;
const headerLength = 16;
const rootFolder = 2;

/** Error codes of AFP. */
export const afpErrors = { none: 0, notFound: -5018, notAuthenticated: -5023, volumeLocked: -5031 } as const;

/** A client of the Apple Filing Protocol over TCP, as small as the tests let it be. */
export class AfpClient implements Disposable {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, { resolve(answer: Answer): void; reject(error: Error): void }>();
  #received = Buffer.alloc(0);
  #request = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (bytes) => this.#take(bytes));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the server ended the connection')));
  }

  static connect(host: string, port = 548): Promise<AfpClient> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port }, () => resolve(new AfpClient(socket)));
      socket.once('error', reject);
    });
  }

  async status(): Promise<AfpStatus> {
    const { data } = await this.#ask(dsi.status, Buffer.alloc(0));
    return { versions: textsAt(data, data.readUInt16BE(2)), methods: textsAt(data, data.readUInt16BE(4)) };
  }

  /** Logs in with a password, or as a guest. Answers the error code. */
  async login(account?: { readonly name: string; readonly password: string }): Promise<number> {
    await this.#ask(dsi.open, Buffer.alloc(0));
    const words = [Buffer.from([18]), pascal('AFP3.3'), pascal(account === undefined ? 'No User Authent' : 'Cleartxt Passwrd')];
    if (account !== undefined) {
      words.push(pascal(account.name));
      if (Buffer.concat(words).length % 2 === 1) words.push(Buffer.alloc(1));
      const password = Buffer.alloc(8);
      password.write(account.password);
      words.push(password);
    }
    return (await this.#ask(dsi.command, Buffer.concat(words))).code;
  }

  async volumes(): Promise<readonly string[]> {
    const { data } = await this.#ask(dsi.command, Buffer.from([16, 0]));
    const names: string[] = [];
    let place = 5;
    for (let count = data.readUInt8(4); count > 0; count -= 1) {
      const length = data.readUInt8(place + 1);
      names.push(data.toString('utf8', place + 2, place + 2 + length));
      place += 2 + length;
    }
    return names;
  }

  /** The volume's number, or the error code when it does not open. */
  async open(volume: string): Promise<{ readonly code: number; readonly id: number }> {
    const { code, data } = await this.#ask(dsi.command, Buffer.concat([Buffer.from([24, 0, 0, 0x20]), pascal(volume)]));
    return { code, id: code === 0 ? data.readUInt16BE(2) : 0 };
  }

  /** Makes an empty file in the volume's first folder. Answers the error code. */
  async create(volume: number, name: string): Promise<number> {
    const head = Buffer.alloc(15);
    head.writeUInt8(7, 0);
    head.writeUInt16BE(volume, 2);
    head.writeUInt32BE(rootFolder, 4);
    head.writeUInt8(3, 8);
    head.writeUInt16BE(Buffer.byteLength(name), 13);
    return (await this.#ask(dsi.command, Buffer.concat([head, Buffer.from(name)]))).code;
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  #ask(command: number, data: Buffer): Promise<Answer> {
    this.#request += 1;
    const header = Buffer.alloc(headerLength);
    header.writeUInt8(command, 1);
    header.writeUInt16BE(this.#request, 2);
    header.writeUInt32BE(data.length, 8);
    const answer = new Promise<Answer>((resolve, reject) => this.#waiting.set(this.#request, { resolve, reject }));
    this.#socket.write(Buffer.concat([header, data]));
    return answer;
  }

  #take(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes]);
    while (this.#received.length >= headerLength) {
      const end = headerLength + this.#received.readUInt32BE(8);
      if (this.#received.length < end) return;
      const number = this.#received.readUInt16BE(2);
      // What the server asks for by itself, to see whether anybody is there, needs no answer in a test.
      if (this.#received.readUInt8(0) === 1) {
        this.#waiting.get(number)?.resolve({ code: this.#received.readInt32BE(4), data: Buffer.from(this.#received.subarray(headerLength, end)) });
        this.#waiting.delete(number);
      }
      this.#received = this.#received.subarray(end);
    }
  }

  #fail(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

function pascal(text: string): Buffer {
  return Buffer.concat([Buffer.from([Buffer.byteLength(text)]), Buffer.from(text)]);
}

/** A number of texts, each behind its length. */
function textsAt(data: Buffer, start: number): readonly string[] {
  const texts: string[] = [];
  let place = start + 1;
  for (let count = data.readUInt8(start); count > 0; count -= 1) {
    const length = data.readUInt8(place);
    texts.push(data.toString('latin1', place + 1, place + 1 + length));
    place += 1 + length;
  }
  return texts;
}
