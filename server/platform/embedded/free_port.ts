import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

// Below the range that operating systems assign to connections and to servers without a fixed port.
const [port_min, port_end] = [20_000, 30_000];
const tries_max = 100;

/**
 * Finds a port of 127.0.0.1 without a listener, for a program that keeps it over restarts. The
 * system does not assign it: another program that asks for any port, or opens a connection, cannot
 * get it while ours is down. Rejects with a sentence if there is none.
 */
export async function findFreePort(): Promise<number> {
  for (let count = 0; count < tries_max; count += 1) {
    const port = randomInt(port_min, port_end);
    if (await isFree(port)) return port;
  }
  throw new Error(
    `No free port was found on 127.0.0.1 between ${port_min} and ${port_end - 1}. End ` +
      'programs that listen there, or set SLUICE_CLICKHOUSE_URL to a ClickHouse server.',
  );
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
