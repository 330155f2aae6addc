import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

const draining = new WeakSet<Server>();

/**
 * From now on the server says at `/readyz` that it takes no more, and asks whoever is connected to
 * end the connection with the next answer. It answers as ever.
 */
export function beginDrain(app: FastifyInstance): void {
  draining.add(app.server);
}

/** Returns true if the server is about to stop. */
export function isDraining({ server }: Pick<FastifyInstance, 'server'>): boolean {
  return draining.has(server);
}

/**
 * Has the server end, as it closes, connections on which nothing ever came. A browser opens one
 * ahead of its next request, a load balancer to see whether somebody answers; for Node these are
 * no idle ones, and `close` would wait until the other side ends them.
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
