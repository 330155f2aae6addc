import net from 'node:net';
import tls from 'node:tls';
import { certificate, certificate_key } from '../certificate.ts';
import { endTogether, listenLocally } from '../loopback.ts';

/**
 * A TCP door to a PostgreSQL that listens on a Unix socket only, with TLS or without, whose
 * connections can be cut.
 */
export type PostgresProxy = {
  port: number;
  /** Ends all connections at once, as a broken network does. */
  cut(): void;
  /**
   * From now on no answer of the server comes through, as when it hangs; what is sent to it still
   * does.
   */
  hold(): void;
  close(): Promise<void>;
};

const ssl_request = 80_877_103;

/** Opens the door on 127.0.0.1 in front of the server's Unix socket. */
export async function openPostgresProxy(
  socketPath: string,
  options: { tls: boolean },
): Promise<PostgresProxy> {
  const held = new AbortController();
  const server = net.createServer((client) => {
    client.on('error', () => client.destroy());
    client.once('data', (first) => {
      const isSslRequest = first.length === 8 && first.readUInt32BE(4) === ssl_request;
      if (!isSslRequest) return join(client, socketPath, held.signal, first);
      client.write(options.tls ? 'S' : 'N');
      if (!options.tls) return join(client, socketPath, held.signal);
      const secure = new tls.TLSSocket(client, {
        isServer: true,
        cert: certificate,
        key: certificate_key,
      });
      secure.on('error', () => client.destroy());
      join(secure, socketPath, held.signal);
    });
  });
  return {
    ...(await listenLocally(server)),
    hold: () => held.abort(),
  };
}

function join(client: net.Socket, socketPath: string, held: AbortSignal, first?: Buffer): void {
  const upstream = net.connect(socketPath);
  if (first !== undefined) upstream.write(first);
  client.pipe(upstream);
  if (!held.aborted) upstream.pipe(client);
  held.addEventListener('abort', () => upstream.unpipe(client));
  endTogether(client, upstream);
}
