import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';

/** A server of a test that listens on a free port of 127.0.0.1. */
export type LocalServer = {
  port: number;
  /** Ends all connections at once, like a broken network. */
  cut(): void;
  close(): Promise<void>;
};

/** Returns the address of a server that listens on 127.0.0.1. */
export function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Lets the server listen on a free port of 127.0.0.1. */
export async function listen<Listening extends Server>(server: Listening): Promise<Listening> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** Lets it listen there, and tracks its connections, so that it can close them all. */
export async function listenLocally(server: Server): Promise<LocalServer> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const { port } = (await listen(server)).address() as AddressInfo;
  return {
    port,
    cut,
    close: async () => {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Ends each of two connections with the other. */
export function endTogether(one: Socket, other: Socket): void {
  for (const [ended, left] of [
    [one, other],
    [other, one],
  ] as const) {
    ended.on('close', () => left.destroy());
    ended.on('error', () => left.destroy());
  }
}
