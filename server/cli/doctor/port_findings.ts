import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Config } from '../../config/config.ts';
import { listenFault } from '../process/listen.ts';
import { fault, ok } from './finding.ts';
import type { Finding } from './finding.ts';

/** Opens the server's port for a moment, and reports why a start could not. */
export async function lookAtPort({ host, port }: Config): Promise<Finding> {
  const server = createServer();
  try {
    await once(server.listen({ host, port }), 'listening');
    return ok('port', port === 0 ? 'any free one' : `${port} on ${host} is free`);
  } catch (error) {
    const why = listenFault(error, { host, port, variable: 'SLUICE_PORT' });
    return fault('port', why ?? (error as Error).message);
  } finally {
    server.close();
  }
}
