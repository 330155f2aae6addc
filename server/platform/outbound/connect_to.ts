import { once } from 'node:events';
import net from 'node:net';

/** Connects to an address that has passed the guard; rejects with the system's own error. */
export async function connectTo(address: string, port: number): Promise<net.Socket> {
  const socket = net.connect({ host: address, port });
  await once(socket, 'connect');
  return socket.setNoDelay(true).setKeepAlive(true, 10_000);
}
