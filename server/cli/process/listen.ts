import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { beginDrain } from '../../platform/http/health/drain.ts';
import { UserError } from '../user_error.ts';

const close_ms_max = 10_000;

/** The address on which a server listens, and the setting that gave it. */
export type ListenPlace = {
  host: string;
  port: number;
  variable: 'SLUICE_PORT' | 'SLUICE_WORKER_PORT';
};

/**
 * Listens and returns the address. Throws a `UserError` with the remedy if the address is in use,
 * forbidden, or not of this machine.
 */
export async function listenAt(app: FastifyInstance, place: ListenPlace): Promise<string> {
  try {
    const { host, port } = place;
    return await app.listen({ host, port });
  } catch (error) {
    const fault = listenFault(error, place);
    throw fault === undefined ? error : new UserError(fault);
  }
}

/** Returns why nothing can listen there, with the remedy; undefined for an unknown error. */
export function listenFault(
  error: unknown,
  { host, port, variable }: ListenPlace,
): string | undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return (
      `Port ${port} on ${host} is in use by another program; choose another port with ` +
      `${variable}.`
    );
  if (code === 'EACCES')
    return `This user may not listen on port ${port}; choose one above 1023 with ${variable}.`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `SLUICE_HOST ${host} is not an address of this machine.`;
  return undefined;
}

/**
 * Reports not ready, and answers for so many seconds more, so that load balancers can send requests
 * elsewhere. Then finishes requests in progress, and closes remaining connections after ten
 * seconds.
 */
export async function closeApp(app: FastifyInstance, drain_seconds: number): Promise<void> {
  beginDrain(app);
  // A server that failed to listen has no clients.
  if (app.server.listening) await pause(drain_seconds * 1000);
  const cut = setTimeout(() => app.server.closeAllConnections(), close_ms_max);
  await app.close();
  clearTimeout(cut);
}
