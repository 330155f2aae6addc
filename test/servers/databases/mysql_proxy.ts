import net from 'node:net';
import { endTogether, listenLocally } from '../loopback.ts';

/**
 * A TCP door to a MySQL server whose connections can be cut; without `tls` it hides that the server
 * offers TLS.
 */
export type MySqlProxy = {
  port: number;
  /** Ends all connections at once, as a broken network does. */
  cut(): void;
  /**
   * From now on no answer of the server comes through, as when it hangs; what is sent to it still
   * does.
   */
  hold(): void;
  /** Answers come through again, to new connections. */
  release(): void;
  close(): Promise<void>;
};

const ssl_capability = 0x0800;

/** Opens the door on 127.0.0.1. */
export async function openMySqlProxy(
  serverPort: number,
  options: { tls: boolean },
): Promise<MySqlProxy> {
  let isHeld = false;
  const server = net.createServer((client) => {
    const upstream = net.connect(serverPort, '127.0.0.1');
    let isGreeting = true;
    upstream.on('data', (chunk) => {
      if (isGreeting && !options.tls) hideTls(chunk);
      isGreeting = false;
      if (!isHeld) client.write(chunk);
    });
    client.pipe(upstream);
    endTogether(client, upstream);
  });
  return {
    ...(await listenLocally(server)),
    hold: () => (isHeld = true),
    release: () => (isHeld = false),
  };
}

/**
 * The greeting: header (4), protocol (1), version and NUL, thread (4), salt (8), filler (1),
 * capabilities (2).
 */
function hideTls(greeting: Buffer): void {
  const at = greeting.indexOf(0, 5) + 1 + 4 + 8 + 1;
  greeting.writeUInt16LE(greeting.readUInt16LE(at) & ~ssl_capability, at);
}
