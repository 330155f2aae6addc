import net from 'node:net';
import type { Socket } from 'node:net';
import pg from 'pg';
import { listenLocally } from '../loopback.ts';
import type { LocalServer } from '../loopback.ts';

/** A session of the server that clients use in turn. */
type Upstream = { stream: Socket; client: pg.Client; hear: (bytes: Buffer) => void };

/**
 * A pooler like pgbouncer with `pool_mode = transaction`. It accepts every client, ignores its
 * startup parameters, and gives each transaction the session that became free last.
 */
export async function openTransactionPooler(url: string): Promise<LocalServer> {
  const all: Upstream[] = [];
  const free: Upstream[] = [];
  const take = async (): Promise<Upstream> => {
    const found = free.pop();
    if (found !== undefined) return found;
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
    stream.removeAllListeners('data');
    const upstream: Upstream = { stream, client, hear: () => undefined };
    stream.on('data', (bytes: Buffer) => upstream.hear(bytes));
    all.push(upstream);
    return upstream;
  };
  const local = await listenLocally(net.createServer((socket) => serve(socket, take, free)));
  return {
    ...local,
    close: async () => {
      await local.close();
      for (const { stream } of all) stream.destroy();
    },
  };
}

function serve(socket: Socket, take: () => Promise<Upstream>, free: Upstream[]): void {
  let isOpen = false;
  let upstream: Promise<Upstream> | undefined;
  socket.on('error', () => socket.destroy());
  socket.on('data', (bytes: Buffer) => {
    if (!isOpen) {
      // It answers a request for TLS with no.
      if (bytes.readInt32BE(4) === 80_877_103) return void socket.write('N');
      isOpen = true;
      return void socket.write(greeting);
    }
    if (bytes[0] === 'X'.charCodeAt(0)) return void socket.end();
    upstream ??= take();
    void forward(upstream, bytes);
  });
  const forward = async (taken: Promise<Upstream>, bytes: Buffer): Promise<void> => {
    const one = await taken;
    one.hear = (answer) => {
      socket.write(answer);
      // Ready for the next query, and in no transaction.
      if (!answer.subarray(-6).equals(ready)) return;
      free.push(one);
      upstream = undefined;
    };
    one.stream.write(bytes);
  };
}

const message = (kind: string, body: Buffer) => {
  const head = Buffer.alloc(5);
  head.write(kind);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
const ready = message('Z', Buffer.from('I'));
const greeting = Buffer.concat([
  message('R', Buffer.alloc(4)),
  message('K', Buffer.from([0, 0, 0, 7, 0, 0, 0, 9])),
  ready,
]);
