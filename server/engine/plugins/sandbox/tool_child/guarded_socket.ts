import http from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { Duplex } from 'node:stream';
import tls from 'node:tls';

/** Asks the server; throws its refusal or the other side's failure. */
export type AskServer = (name: string, ...parameters: unknown[]) => Promise<unknown>;

const write_bytes_max = 256 * 1024;

type Heard = (error?: Error | null) => void;

/**
 * A socket for clients of other protocols: the server connects to allowed hosts through its guard,
 * and passes the bytes on. TLS ends here, so that the server never sees the content.
 */
class GuardedSocket extends Duplex {
  connecting = false;
  remoteAddress: string | undefined;
  remotePort: number | undefined;
  bytesRead = 0;
  bytesWritten = 0;
  timeout = 0;
  #ask: AskServer | undefined;
  #number: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  static begin: () => AskServer = () => {
    throw new Error('A tool opens connections within a call alone.');
  };

  constructor() {
    super({ allowHalfOpen: false });
  }

  get pending(): boolean {
    return this.#number === undefined;
  }

  get readyState(): string {
    if (this.connecting) return 'opening';
    return this.pending || this.destroyed ? 'closed' : 'open';
  }

  connect(...parameters: unknown[]): this {
    const { host = 'localhost', port, path, heard } = placeOf(parameters);
    if (heard !== undefined) this.once('connect', heard);
    this.connecting = true;
    this.remotePort = Number(port);
    void this.#open(host, (path ?? '') === '' ? Number(port) : undefined);
    return this;
  }

  async #open(host: string, port: number | undefined): Promise<void> {
    try {
      if (port === undefined) throw new Error('A tool may not use a local socket.');
      this.#ask = GuardedSocket.begin();
      const number = (await this.#ask('socket.open', { host, port })) as number;
      this.connecting = false;
      if (this.destroyed) return void this.#ask('socket.close', number).catch(() => {});
      [this.#number, this.remoteAddress] = [number, host];
      this.#alive();
      this.emit('connect');
      this.emit('ready');
      void this.#read();
    } catch (error) {
      this.connecting = false;
      this.destroy(error as Error);
    }
  }

  #alive(): void {
    this.#timer?.refresh();
  }

  /** Reads while the other end accepts data. */
  async #read(): Promise<void> {
    try {
      for (let isWanted = true; isWanted;) {
        const text = (await this.#ask!('socket.read', this.#number)) as string | null;
        this.#alive();
        const bytes = text === null ? null : Buffer.from(text, 'base64');
        this.bytesRead += bytes?.length ?? 0;
        isWanted = this.push(bytes) && bytes !== null;
      }
      this.#isReading = false;
    } catch (error) {
      this.destroy(error as Error);
    }
  }

  #isReading = true;
  override _read(): void {
    if (this.#number === undefined || this.#isReading) return;
    this.#isReading = true;
    void this.#read();
  }

  override _write(chunk: Buffer, _encoding: string, heard: Heard): void {
    this.#whenOpen(() => this.#write(chunk), heard);
  }

  override _final(heard: Heard): void {
    this.#whenOpen(() => this.#ask!('socket.end', this.#number), heard);
  }

  #whenOpen(work: () => Promise<unknown>, heard: Heard): void {
    const run = async () => {
      try {
        await work();
        heard();
      } catch (error) {
        heard(error as Error);
      }
    };
    if (this.connecting) this.once('connect', () => void run());
    else void run();
  }

  async #write(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length; at += write_bytes_max) {
      const part = chunk.subarray(at, at + write_bytes_max);
      await this.#ask!('socket.write', this.#number, part.toString('base64'));
      this.bytesWritten += part.length;
      this.#alive();
    }
  }

  override _destroy(error: Error | null, heard: Heard): void {
    clearTimeout(this.#timer);
    void this.#close();
    heard(error);
  }

  async #close(): Promise<void> {
    if (this.#number === undefined) return;
    // If this fails, it is already closed.
    await this.#ask!('socket.close', this.#number).catch(() => {});
  }

  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  setTimeout(milliseconds: number, heard?: () => void): this {
    clearTimeout(this.#timer);
    this.timeout = milliseconds;
    if (heard !== undefined) this.once('timeout', heard);
    if (milliseconds > 0)
      this.#timer = setTimeout(() => this.emit('timeout'), milliseconds).unref();
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  address(): object {
    return {};
  }
}

type Place = { host?: string; port?: unknown; path?: string | null };

/** Reads the three forms of `connect`: options, port and host, or a path. */
function placeOf(parameters: unknown[]): Place & { heard?: () => void } {
  // Other parts of Node pass them as a list.
  const [first, second] = (Array.isArray(parameters[0]) ? parameters[0] : parameters) as unknown[];
  const last = parameters.flat().findLast((one) => typeof one === 'function');
  const heard = last === undefined ? {} : { heard: last as () => void };
  if (typeof first === 'object') return { ...(first as Place), ...heard };
  if (typeof first === 'string' && !/^\d+$/.test(first)) return { path: first, ...heard };
  return { port: first, ...(typeof second === 'string' ? { host: second } : {}), ...heard };
}

/**
 * Replaces the platform's sockets by guarded ones, for every client that is loaded later. `begin`
 * binds one to the call in progress.
 */
export function guardSockets(begin: () => AskServer): void {
  GuardedSocket.begin = begin;
  const connect = (...parameters: unknown[]) => new GuardedSocket().connect(...parameters);
  const secure = tls.connect as (options: object, heard?: () => void) => tls.TLSSocket;
  const connectSecurely = (...parameters: unknown[]) => {
    const { heard, ...place } = placeOf(parameters);
    const given = parameters.find((one) => typeof one === 'object') as tls.ConnectionOptions;
    const { host = 'localhost' } = place;
    return secure(
      {
        ...(net.isIP(host) === 0 ? { servername: host } : {}),
        ...place,
        ...given,
        socket: given?.socket ?? new GuardedSocket().connect({ host, port: place.port }),
      },
      heard,
    );
  };
  const Platform = net.Socket;
  // TLS sockets call it on themselves and stay as they are; they have no way to connect.
  function Socket(this: unknown, ...parameters: unknown[]): unknown {
    return this instanceof Platform
      ? Reflect.apply(Platform as never, this, parameters)
      : Reflect.construct(GuardedSocket, [], new.target ?? GuardedSocket);
  }
  Socket.prototype = GuardedSocket.prototype;
  Object.assign(net, {
    connect,
    createConnection: connect,
    Socket,
    Stream: Socket,
  });
  Object.assign(tls, { connect: connectSecurely });
  Object.assign(http.Agent.prototype, { createConnection: connect });
  syncBuiltinESMExports();
}
