import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The address of a server that listens on 127.0.0.1. */
export function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Has the server listen on a free port of 127.0.0.1. */
export async function listen(server: Server): Promise<Server> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}
