import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { beginDrain } from '../../platform/http/health/drain.ts';
import { UserError } from '../user_error.ts';

const close_ms_max = 10_000;

/** The address on which a server listens, and the setting that says so. */
export type ListenPlace = {
  host: string;
  port: number;
  variable: 'SLUICE_PORT' | 'SLUICE_WORKER_PORT';
};

/**
 * Listens and gives the address. Throws `UserError` with what to do when the place is taken,
 * forbidden, or not of this machine.
 */
export async function listenAt(
  app: FastifyInstance,
  { host, port, variable }: ListenPlace,
): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      throw new UserError(
        `Port ${port} on ${host} is in use by another program; choose another port with ` +
          `${variable}.`,
      );
    if (code === 'EACCES')
      throw new UserError(
        `This user may not listen on port ${port}; choose one above 1023 with ${variable}.`,
      );
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
      throw new UserError(`SLUICE_HOST ${host} is not an address of this machine.`);
    throw error;
  }
}

/**
 * Says that the server is not ready any more and answers for so many seconds more, so that whoever
 * sends it requests has time to send them elsewhere. Then lets requests in hand come to an end, and
 * cuts off connections that are still there after ten seconds.
 */
export async function closeApp(app: FastifyInstance, drain_seconds: number): Promise<void> {
  beginDrain(app);
  // One that could not listen has nobody to tell.
  if (app.server.listening) await pause(drain_seconds * 1000);
  const cut = setTimeout(() => app.server.closeAllConnections(), close_ms_max);
  await app.close();
  clearTimeout(cut);
}
