import type { FastifyInstance } from 'fastify';
import { UserError } from './user_error.ts';

const close_ms_max = 10_000;

/** Where a server listens, and which setting says so. */
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
        `Port ${port} on ${host} is taken by another program; give the server another one with ` +
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
 * Lets requests in hand come to an end, and cuts off connections that are still there after ten
 * seconds.
 */
export async function closeApp(app: FastifyInstance): Promise<void> {
  const cut = setTimeout(() => app.server.closeAllConnections(), close_ms_max);
  await app.close();
  clearTimeout(cut);
}
