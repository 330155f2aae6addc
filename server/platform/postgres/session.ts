import pg from 'pg';
import { StoreAwayError } from '../store_away.ts';

/** Sessions of which PostgreSQL said that it no longer waits for its synchronous standby. */
const unconfirmed = new WeakSet<pg.ClientBase>();

/**
 * A client that never ends its process when its server goes away, and that `ask` can hear. It
 * connects to `urlOf()`.
 */
export function clientsOf(urlOf: () => string): typeof pg.Client {
  return class extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super({
        ...config,
        connectionString: urlOf(),
        // Reports a machine that is gone to a caller who waits for its answer.
        keepAlive: true,
        keepAliveInitialDelayMillis: 10_000,
      });
      // The pool listens on idle connections only. One that the server ends in the packet that
      // greets it is nobody's yet, and would end this process; whoever gets it finds it broken.
      this.on('error', () => {});
      // "The transaction has already committed locally, but might not have been replicated to the
      // standby", in whatever language; the answer that follows is that of any commit.
      this.on('notice', ({ routine }) => {
        if (routine === 'SyncRepWaitForLSN') unconfirmed.add(this);
      });
    }
  };
}

/**
 * Sends a statement. If PostgreSQL has committed without the standby that it had to wait for,
 * throws a `StoreAwayError`: after a failover the commit may be lost.
 */
export async function ask(client: pg.ClientBase, config: pg.QueryConfig): Promise<pg.QueryResult> {
  const result = await client.query(config);
  if (unconfirmed.delete(client))
    throw new StoreAwayError(
      'PostgreSQL committed without its synchronous standby. The commit may be lost in a failover.',
    );
  return result;
}

/** Ends a connection at once, so that whoever waits for its answer is told. */
export function cutOff(client: pg.ClientBase): void {
  (
    client as unknown as { connection: { stream: { destroy(): void } } }
  ).connection.stream.destroy();
}
