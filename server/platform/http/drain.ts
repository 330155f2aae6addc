import type { Server } from 'node:http';
import type { FastifyInstance } from 'fastify';

const draining = new WeakSet<Server>();

/**
 * From now on the server says at `/readyz` that it takes no more, and asks whoever is connected to
 * end the connection with the next answer. It answers as ever.
 */
export function beginDrain(app: FastifyInstance): void {
  draining.add(app.server);
}

/** Whether the server will soon be gone. */
export function isDraining({ server }: Pick<FastifyInstance, 'server'>): boolean {
  return draining.has(server);
}
