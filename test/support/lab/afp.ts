import { createDiffieHellman, createHash, randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { cast5 } from './cast5.ts';

/** The server's answer to an unauthenticated status request. */
export interface AfpStatus {
  readonly versions: readonly string[];
  /** The authentication methods. */
  readonly methods: readonly string[];
}

export interface Account {
  readonly name: string;
  readonly password: string;
}

/** An answer's error code, 0 for none, and its data. */
interface Answer {
  readonly code: number;
  readonly data: Buffer;
}

const dsi = { close: 1, command: 2, status: 3, open: 4, write: 6 } as const;
const afp = {
  closeVolume: 2,
  closeFork: 4,
  createFolder: 6,
  createFile: 7,
  delete: 8,
  parameters: 16,
  login: 18,
  loginContinued: 19,
  logout: 20,
  openVolume: 24,
  openFork: 26,
  setParameters: 35,
  read: 60,
  write: 61,
} as const;
const headerLength = 16;
const rootFolder = 2;

/** Error codes of AFP. */
export const afpErrors = {
  none: 0,
  accessDenied: -5000,
  loginGoesOn: -5001,
  endOfFile: -5009,
  notFound: -5018,
  unknownMethod: -5002,
  notAuthenticated: -5023,
  volumeLocked: -5031,
} as const;

/** Bits of a volume's attributes. */
export const volumeAttributes = {
  readOnly: 1 << 0,
  hasPassword: 1 << 1,
  unixPrivileges: 1 << 5,
  timeMachine: 1 << 13,
} as const;

export interface OpenVolume {
  readonly code: number;
  readonly id: number;
  readonly attributes: number;
}

/** A client of the Apple Filing Protocol over TCP with only what the tests need. */
export class AfpClient implements Disposable {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, { resolve(answer: Answer): void; reject(error: Error): void }>();
  #received = Buffer.alloc(0);
  #request = 0;
  #ended: Error | undefined;

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

  /** Logs in as an account, by DHX2, or as a guest. Answers the error code. */
  async login(account?: Account): Promise<number> {
    const opened = await this.#ask(dsi.open, Buffer.alloc(0));
    if (opened.code !== afpErrors.none) return opened.code;
    const begin = [Buffer.from([afp.login]), pascal('AFP3.4')];
    if (account === undefined) return (await this.#command(...begin, pascal('No User Authent'))).code;
    const { code, data } = await this.#command(...begin, pascal('DHX2'), pascal(account.name));
    return code === afpErrors.loginGoesOn ? this.#loginBy(data, account.password) : code;
  }

  /**
   * DHX2: a Diffie-Hellman key exchange. Each side proves to the other that it has the key, which then encrypts the
   * password.
   */
  async #loginBy(offer: Buffer, password: string): Promise<number> {
    const length = offer.readUInt16BE(6);
    const prime = offer.subarray(8, 8 + length);
    const exchange = createDiffieHellman(prime, offer.subarray(2, 6));
    const mine = leftPadded(exchange.generateKeys(), length);
    const secret = leftPadded(exchange.computeSecret(offer.subarray(8 + length, 8 + 2 * length)), length);
    const key = createHash('md5').update(secret).digest();
    const nonce = randomBytes(16);
    const first = await this.#continue(offer.readUInt16BE(0), mine, await cast5('encrypt', key, 'LWallace', nonce));
    if (first.code !== afpErrors.loginGoesOn) return first.code;
    const shown = await cast5('decrypt', key, 'CJalbert', first.data.subarray(2, 34));
    if (!shown.subarray(0, 16).equals(plusOne(nonce))) throw new Error('the server does not have the key');
    const last = Buffer.concat([plusOne(shown.subarray(16)), zeroPadded(password, 256)]);
    return (await this.#continue(first.data.readUInt16BE(0), await cast5('encrypt', key, 'LWallace', last))).code;
  }

  #continue(step: number, ...words: readonly Buffer[]): Promise<Answer> {
    return this.#command(Buffer.from([afp.loginContinued, 0]), short(step), ...words);
  }

  async logout(): Promise<number> {
    return (await this.#command(Buffer.from([afp.logout, 0]))).code;
  }

  async volumes(): Promise<readonly string[]> {
    const { data } = await this.#command(Buffer.from([afp.parameters, 0]));
    const names: string[] = [];
    let place = 5;
    for (let count = data.readUInt8(4); count > 0; count -= 1) {
      const length = data.readUInt8(place + 1);
      names.push(data.toString('utf8', place + 2, place + 2 + length));
      place += 2 + length;
    }
    return names;
  }

  /** The volume's number and attributes, or the error code when it does not open. */
  async open(volume: string, password?: string): Promise<OpenVolume> {
    const wanted = 0x21;
    const words = Buffer.concat([Buffer.from([afp.openVolume, 0]), short(wanted), pascal(volume)]);
    const { code, data } = await this.#command(
      words,
      ...(password === undefined ? [] : [Buffer.alloc(words.length % 2), zeroPadded(password, 8)]),
    );
    return code === 0
      ? { code, attributes: data.readUInt16BE(2), id: data.readUInt16BE(4) }
      : { code, attributes: 0, id: 0 };
  }

  async closeVolume(volume: number): Promise<number> {
    return (await this.#command(Buffer.from([afp.closeVolume, 0]), short(volume))).code;
  }

  /** Makes an empty file in the volume's first folder. Answers the error code. */
  async create(volume: number, name: string): Promise<number> {
    return (await this.#command(Buffer.from([afp.createFile, 0]), short(volume), long(rootFolder), pathOf(name))).code;
  }

  async createFolder(volume: number, name: string): Promise<number> {
    return (await this.#command(Buffer.from([afp.createFolder, 0]), short(volume), long(rootFolder), pathOf(name)))
      .code;
  }

  async delete(volume: number, name: string): Promise<number> {
    return (await this.#command(Buffer.from([afp.delete, 0]), short(volume), long(rootFolder), pathOf(name))).code;
  }

  /** Sets Unix permissions, as a Mac does for all its files. Returns the error code. */
  async setMode(
    volume: number,
    name: string,
    owner: { readonly uid: number; readonly gid: number },
    mode: number,
  ): Promise<number> {
    const unixPrivileges = 0x8000;
    const words = Buffer.concat([
      Buffer.from([afp.setParameters, 0]),
      short(volume),
      long(rootFolder),
      short(unixPrivileges),
      pathOf(name),
    ]);
    return (
      await this.#command(words, Buffer.alloc(words.length % 2), long(owner.uid), long(owner.gid), long(mode), long(0))
    ).code;
  }

  /** Writes the bytes from the beginning of the file. Returns the error code of the first request that failed. */
  async write(volume: number, name: string, bytes: Buffer): Promise<number> {
    return this.#withFork(volume, name, 'write', async (fork) => {
      const head = Buffer.concat([Buffer.from([afp.write, 0]), short(fork), longLong(0), longLong(bytes.length)]);
      return (await this.#ask(dsi.write, Buffer.concat([head, bytes]), head.length)).code;
    });
  }

  /** The file's bytes, or the error code. */
  async read(volume: number, name: string, most = 65_536): Promise<Buffer | number> {
    let bytes: Buffer = Buffer.alloc(0);
    const code = await this.#withFork(volume, name, 'read', async (fork) => {
      const answer = await this.#command(Buffer.from([afp.read, 0]), short(fork), longLong(0), longLong(most));
      bytes = answer.data;
      return answer.code === afpErrors.endOfFile ? afpErrors.none : answer.code;
    });
    return code === afpErrors.none ? bytes : code;
  }

  async #withFork(
    volume: number,
    name: string,
    mode: 'read' | 'write',
    work: (fork: number) => Promise<number>,
  ): Promise<number> {
    const { code, data } = await this.#command(
      Buffer.from([afp.openFork, 0]),
      short(volume),
      long(rootFolder),
      short(0),
      short(mode === 'read' ? 1 : 2),
      pathOf(name),
    );
    if (code !== afpErrors.none) return code;
    const fork = data.readUInt16BE(2);
    const outcome = await work(fork);
    const closed = await this.#command(Buffer.from([afp.closeFork, 0]), short(fork));
    return outcome === afpErrors.none ? closed.code : outcome;
  }

  /** The server counts a session that was only disconnected until a time-out, so it is closed properly. */
  [Symbol.dispose](): void {
    if (this.#ended !== undefined) return;
    this.#socket.end(this.#packet(dsi.close, Buffer.alloc(0)));
    this.#fail(new Error('the session was closed'));
  }

  #command(...words: readonly Buffer[]): Promise<Answer> {
    return this.#ask(dsi.command, Buffer.concat(words));
  }

  /** `offset` is the beginning of the data after a command that writes. */
  #ask(command: number, data: Buffer, offset = 0): Promise<Answer> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    const packet = this.#packet(command, data, offset);
    const answer = new Promise<Answer>((resolve, reject) => this.#waiting.set(this.#request, { resolve, reject }));
    this.#socket.write(packet);
    return answer;
  }

  #packet(command: number, data: Buffer, offset = 0): Buffer {
    this.#request += 1;
    const header = Buffer.alloc(headerLength);
    header.writeUInt8(command, 1);
    header.writeUInt16BE(this.#request, 2);
    header.writeUInt32BE(offset, 4);
    header.writeUInt32BE(data.length, 8);
    return Buffer.concat([header, data]);
  }

  #take(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes]);
    while (this.#received.length >= headerLength) {
      const end = headerLength + this.#received.readUInt32BE(8);
      if (this.#received.length < end) return;
      const number = this.#received.readUInt16BE(2);
      // The server's own keep-alive requests need no answer in a test.
      if (this.#received.readUInt8(0) === 1) {
        this.#waiting.get(number)?.resolve({
          code: this.#received.readInt32BE(4),
          data: Buffer.from(this.#received.subarray(headerLength, end)),
        });
        this.#waiting.delete(number);
      }
      this.#received = this.#received.subarray(end);
    }
  }

  #fail(error: Error): void {
    this.#ended ??= error;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

function pascal(text: string): Buffer {
  return Buffer.concat([Buffer.from([Buffer.byteLength(text)]), Buffer.from(text)]);
}

function short(number: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(number);
  return bytes;
}

function long(number: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(number);
  return bytes;
}

function longLong(number: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(number));
  return bytes;
}

/** A name in a folder, in UTF-8. */
function pathOf(name: string): Buffer {
  return Buffer.concat([Buffer.from([3]), long(0), short(Buffer.byteLength(name)), Buffer.from(name)]);
}

function leftPadded(bytes: Buffer, length: number): Buffer {
  return Buffer.concat([Buffer.alloc(length - bytes.length), bytes]);
}

function zeroPadded(text: string, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  bytes.write(text);
  return bytes;
}

/** The number plus one, with the same length. */
function plusOne(bytes: Buffer): Buffer {
  const sum = (BigInt(`0x${bytes.toString('hex')}`) + 1n) % (1n << BigInt(bytes.length * 8));
  return Buffer.from(sum.toString(16).padStart(bytes.length * 2, '0'), 'hex');
}

/** Several texts, each after its length. */
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
