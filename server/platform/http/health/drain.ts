import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

const draining = new WeakSet<Server>();

/**
 * From now on `/readyz` reports that the server is stopping, and each answer asks its client to
 * close the connection. Requests are answered as usual.
 */
export function beginDrain(app: FastifyInstance): void {
  draining.add(app.server);
}

/** Returns true if the server is about to stop. */
export function isDraining({ server }: Pick<FastifyInstance, 'server'>): boolean {
  return draining.has(server);
}

/**
 * Makes the server close unused connections when it stops. A browser opens one ahead of its next
 * request, a load balancer as a health check. Node does not count them as idle, and `close` would
 * wait until the other side ends them.
 */
export function endSilentConnections(app: FastifyInstance): void {
  const connections = new Set<Socket>();
  app.server.on('connection', (socket: Socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  app.addHook('preClose', (done) => {
    for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
    done();
  });
}
