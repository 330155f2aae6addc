import { createRequire } from 'node:module';
import { tryResolveLibchdb } from 'chdb/libchdb';

/** One connection of the engine, with its own session; only the addon knows its type. */
export type Connection = { readonly connection: unique symbol };

/** The calls of chDB's addon that we use, as its own JavaScript does. */
export type Addon = {
  /**
   * Opens the folder, or one more connection to it. Throws the engine's error. `args` only apply to
   * the first one.
   */
  CreateConnection(folder: string, args?: string[]): Connection;
  /**
   * Runs SQL on a thread of libuv and settles when it has finished. The connection must not be
   * closed before.
   */
  QueryAsyncConnection(
    connection: Connection,
    sql: string,
    format: string,
  ): Promise<{ bytes: Uint8Array; rowsRead: number }>;
  /** Ends the connection and frees its memory. */
  CloseConnection(connection: Connection): void;
};

/** Text for an operator whose installation has no engine. */
export const engine_missing =
  'There is no embedded ClickHouse in this installation. Set SLUICE_CLICKHOUSE_URL to a ' +
  'ClickHouse server, or install Sluice with its stores.';

/**
 * Opens the addon under the package `chdb`, without its class Session. Session delays each close
 * until every running operation of the process has ended. During a query of an hour, it would keep
 * all connections of that hour, about 2 MB each. This prevents the closing of a connection under
 * its own query; here, the caller ensures that (docs/decisions/0029).
 */
export function openAddon(): Addon {
  const found = findLibrary();
  if (found === undefined) throw new Error(engine_missing);
  return createRequire(found.path)(found.package) as Addon;
}

/** Returns true if this installation has the engine: an image without stores does not. */
export function isEngineInstalled(): boolean {
  return findLibrary() !== undefined;
}

function findLibrary(): { path: string; package: string } | undefined {
  const { packageName, path } = tryResolveLibchdb({ env: {} }) ?? {};
  return packageName === undefined ? undefined : { path: path!, package: packageName };
}
