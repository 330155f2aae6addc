import pg from 'pg';
import { StoreAwayError } from '../store_away.ts';

/** Sessions for which PostgreSQL reported that it no longer waits for its synchronous standby. */
const unconfirmed = new WeakSet<pg.ClientBase>();

/**
 * Returns a client class that never ends its process when its server goes away, and that `ask` can
 * observe. It connects to `urlOf()`.
 */
export function clientsOf(urlOf: () => string): typeof pg.Client {
  return class extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super({
        ...config,
        connectionString: urlOf(),
        // Reports a lost machine to a caller who waits for its answer.
        keepAlive: true,
        keepAliveInitialDelayMillis: 10_000,
      });
      // The pool only listens on idle connections. A connection that the server ends in its
      // greeting has no owner yet, and would end this process; its next user finds it broken.
      this.on('error', () => {});
      // "The transaction has already committed locally, but might not have been replicated to the
      // standby", in any language; the following answer looks like that of any commit.
      this.on('notice', ({ routine }) => {
        if (routine === 'SyncRepWaitForLSN') unconfirmed.add(this);
      });
    }
  };
}

/**
 * Returns the answer to a statement. If PostgreSQL has committed without the standby that it had to
 * wait for, throws a `StoreAwayError`: after a failover the commit may be lost.
 */
export async function ask(
  client: pg.ClientBase,
  answer: Promise<pg.QueryResult>,
): Promise<pg.QueryResult> {
  const result = await answer;
  if (unconfirmed.delete(client))
    throw new StoreAwayError(
      'PostgreSQL committed without its synchronous standby. The commit may be lost in a failover.',
    );
  return result;
}

/** Ends a connection at once, so that callers who wait for its answer get an error. */
export function cutOff(client: pg.ClientBase): void {
  (
    client as unknown as { connection: { stream: { destroy(): void } } }
  ).connection.stream.destroy();
}
