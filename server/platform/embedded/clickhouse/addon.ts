import { createRequire } from 'node:module';
import { tryResolveLibchdb } from 'chdb/libchdb';

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
  ): Promise<{ bytes: Uint8Array; rowsRead: number }>;
  /** Ends the connection and frees what it holds. */
  CloseConnection(connection: Connection): void;
};

/** Text for an operator whose installation has no engine. */
export const engine_missing =
  'There is no embedded ClickHouse in this installation. Set SLUICE_CLICKHOUSE_URL to a ' +
  'ClickHouse server, or install Sluice with its stores.';

/**
 * Opens the addon under the package `chdb`, without its class Session. Session postpones each close
 * until every running operation of the process has ended, so that beside a query of an hour all
 * connections of that hour would be kept, about 2 MB each. It protects against closing a connection
 * under its own query; here the caller ensures that (docs/decisions/0029).
 */
export function openAddon(): Addon {
  const found = findLibrary();
  if (found === undefined) throw new Error(engine_missing);
  return createRequire(found.path)(found.package) as Addon;
}

/** Tells whether this installation has the engine: an image without stores does not. */
export function isEngineInstalled(): boolean {
  return findLibrary() !== undefined;
}

function findLibrary(): { path: string; package: string } | undefined {
  const { packageName, path } = tryResolveLibchdb({ env: {} }) ?? {};
  return packageName === undefined ? undefined : { path: path!, package: packageName };
}
