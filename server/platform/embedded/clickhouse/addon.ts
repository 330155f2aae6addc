import { createRequire } from 'node:module';
import { resolveLibchdb } from 'chdb/libchdb';

/** One connection of the engine: a session of its own, of which only the addon knows what it is. */
export type Connection = { readonly connection: unique symbol };

/** The calls of chDB's addon that we use, as those of its own JavaScript do. */
export type Addon = {
  /**
   * Opens the folder, or one more connection to it. Throws the engine's error. `args` count for the
   * first one.
   */
  CreateConnection(folder: string, args?: string[]): Connection;
  /**
   * Runs SQL on a thread of libuv and settles when that is through. The connection must not be
   * closed before.
   */
  QueryAsyncConnection(
    connection: Connection,
    sql: string,
    format: string,
  ): Promise<{ bytes: Uint8Array }>;
  /** Ends the connection and frees what it holds. */
  CloseConnection(connection: Connection): void;
};

/**
 * Opens the addon under the package `chdb`, without its class Session. Session postpones each close
 * until every running operation of the process has ended, so that beside a query of an hour all
 * connections of that hour would be kept, about 2 MB each. It protects against closing a connection
 * under its own query; here the caller ensures that (docs/decisions/0029).
 */
export function openAddon(): Addon {
  const { packageName, path } = resolveLibchdb({ env: {} });
  if (packageName === undefined)
    throw new Error(
      `chDB's package for this system is not installed (found ${path}). Install Sluice again, or ` +
        'set SLUICE_CLICKHOUSE_URL to a ClickHouse server.',
    );
  return createRequire(path)(packageName) as Addon;
}
