import { Duplex } from 'node:stream';

/** Opens a connection from the SSH server to a host and port. */
export type Forward = (host: string, port: number) => Promise<Duplex>;

/**
 * A connection through a tunnel, for database clients that need an unconnected socket of
 * `node:net`. A write is done when the tunnel has copied its bytes.
 */
export class TunnelSocket extends Duplex {
  private channel: Duplex | undefined;
  private readonly forward: Forward;

  constructor(forward: Forward) {
    super({ allowHalfOpen: false });
    this.forward = forward;
  }

  /** Works like a socket's. */
  connect(port: number, host: string): this {
    this.forward(host, port).then(
      (channel) => this.join(channel),
      (error: Error) => this.destroy(error),
    );
    return this;
  }

  private join(channel: Duplex): void {
    if (this.destroyed) return void channel.destroy();
    this.channel = channel;
    channel.on('data', (bytes: Buffer) => {
      if (!this.push(bytes)) channel.pause();
    });
    channel.on('error', (error: Error) => this.destroy(error));
    channel.once('end', () => this.push(null));
    // Later than the tunnel's own report of its end.
    channel.once('close', () => setImmediate(() => this.destroy()));
    this.emit('connect');
  }

  override _read(): void {
    this.channel?.resume();
  }

  override _write(bytes: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    if (this.channel !== undefined) return void this.channel.write(bytes, done);
    this.once('connect', () => this.channel?.write(bytes, done));
  }

  override _final(done: () => void): void {
    this.channel?.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.channel?.destroy();
    // TLS on top must report its own fault first.
    setImmediate(done, error);
  }

  /** The tunnel's own connection sets these. */
  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  setTimeout(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}
