import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import pg from 'pg';
import type { Sql } from 'sql-template-tag';
import type { Epoch } from './epoch.ts';
import { idle_ms, openGrowth } from './growth.ts';
import { openPrimary } from './primary.ts';
import { openSession } from './session_settings.ts';
import type { Primary, PrimaryOptions } from './primary.ts';
import { inSavepoint } from './savepoint.ts';
import { ask } from './session.ts';
import { traced } from './traced.ts';
import { wireTypes } from './wire_types.ts';

/** A statement's text and values: that of `sql`, or one that was put together before. */
export type Statement = Pick<Sql, 'text' | 'values'>;

/**
 * Operations of both the pool and an open transaction. Every statement is named after its text, so
 * PostgreSQL prepares it once per connection.
 */
export type Queryable = {
  /** All rows of the statement, in its order. */
  rows<Row>(statement: Statement): Promise<Row[]>;
  /** The first row, or undefined when there is none. */
  row<Row>(statement: Statement): Promise<Row | undefined>;
  /** Runs the statement and gives how many rows it touched. */
  run(statement: Statement): Promise<number>;
  /**
   * Unprepared text with positional values, for what cannot be prepared: settings of a transaction,
   * migrations.
   */
  text(
    text: string,
    values?: unknown[],
  ): Promise<{ rows: Record<string, unknown>[]; rowCount: number | null }>;
};

/**
 * A transaction under way. It is over when the function that received it returns. Statements that
 * are asked for without waiting for each other go out together and are carried out in their order,
 * each with what the ones before it left.
 */
export type Transaction = Queryable & {
  readonly transaction_open: true;
  /**
   * Keeps a statement back until the transaction ends, and sends it with the COMMIT; what else is
   * asked for comes after it. Its fault is one of the whole transaction, in the words of `told`.
   */
  lastly(statement: Statement, told?: (fault: unknown) => unknown): void;
};

/** The pool of connections to the control store. */
export type Database = Queryable & {
  /**
   * Runs `work` in one transaction: commits when it returns, rolls everything back when it throws.
   */
  transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
  /**
   * Joins `work` to an open transaction: its statements on this database run there, and a
   * transaction inside it is a savepoint. So parts that open transactions of their own commit or
   * roll back together. Calls that continue after `work` has returned are no longer joined.
   */
  within<Result>(tx: Transaction, work: () => Promise<Result>): Promise<Result>;
  /** Number of statements sent so far; tests count the round trips of a request with it. */
  statementCount(): number;
  /** The latest primary that a session was on; undefined before, or where it does not tell. */
  epoch(): Epoch | undefined;
  close(): Promise<void>;
};

/** Options of a pool. */
export type DatabaseOptions = PrimaryOptions & {
  connections_max: number;
  application_name: string;
  onError?: (error: Error) => void;
};

/**
 * A PostgreSQL error as `pg` throws it; `code` is the SQLSTATE, `constraint` names the violated
 * constraint.
 */
export type DatabaseError = Error & { code: string; constraint?: string; table?: string };

/** True for an error that PostgreSQL itself answered, with its SQLSTATE in `code`. */
export function isDatabaseError(error: unknown): error is DatabaseError {
  // By its class: EPIPE, of a socket that breaks, looks like an SQLSTATE.
  return error instanceof pg.DatabaseError && error.code !== undefined;
}

const statementNames = new Map<string, string>();

function nameOf(text: string): string {
  let name = statementNames.get(text);
  if (name === undefined) {
    name = `s_${createHash('sha1').update(text).digest('hex').slice(0, 24)}`;
    statementNames.set(text, name);
  }
  return name;
}

type Send = (config: pg.QueryConfig) => Promise<pg.QueryResult>;

function prepared(send: Send, statement: Statement): Promise<pg.QueryResult> {
  // Its text and values are made anew whenever they are asked for.
  const { text, values } = statement;
  return send({ name: nameOf(text), text, values });
}

function queryable(send: Send): Queryable {
  return {
    rows: async <Row>(statement: Statement) => (await prepared(send, statement)).rows as Row[],
    row: async <Row>(statement: Statement) =>
      (await prepared(send, statement)).rows[0] as Row | undefined,
    run: async (statement) => (await prepared(send, statement)).rowCount ?? 0,
    text: (text, values) => send(values === undefined ? { text } : { text, values }),
  };
}

/**
 * Opens a pool on a PostgreSQL URL (15 or newer), which may name several servers. Guarantees:
 * sessions run in UTC, on the primary; timestamps come back as ISO 8601 text with `Z` and full
 * microseconds; 64-bit integers come back as numbers; an idle connection that breaks is replaced
 * instead of ending the process; who waits for a server that answers nobody is told so within ten
 * seconds; what a synchronous standby did not confirm is a `StoreAwayError`.
 */
export function openDatabase(url: string, options: DatabaseOptions): Database {
  const primary = openPrimary(url, options);
  const pool = new pg.Pool({
    Client: primary.Client,
    onConnect: (client) => openSession(client, primary),
    max: options.connections_max,
    application_name: options.application_name,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: idle_ms,
    types: wireTypes,
    // A statement does not wait for the answer to the one before it on its connection.
    pipeline: true,
  });
  // A session that it ends may hear first that its server does.
  pool.on('error', (error) => (pool.ending ? undefined : options.onError?.(error)));
  const take = openGrowth(pool, options.connections_max);
  const connect = () => connectTo(take, primary);
  let statements = 0;
  const counted =
    (client: pg.PoolClient): Send =>
    (config) => {
      statements += 1;
      return traced(config, () => ask(client, config));
    };
  const joined = openJoined();
  const direct = queryable(async (config) => {
    const client = await connect();
    let fault: Error | undefined;
    try {
      return await counted(client)(config);
    } catch (error) {
      fault = error as Error;
      primary.doubt(error);
      throw error;
    } finally {
      client.release(fault);
    }
  });
  const here = () => joined.present() ?? direct;
  return {
    rows: (statement) => here().rows(statement),
    row: (statement) => here().row(statement),
    run: (statement) => here().run(statement),
    text: (text, values) => here().text(text, values),
    statementCount: () => statements,
    transaction: (work) => {
      const tx = joined.present();
      return tx === undefined
        ? inTransaction({ connect, primary }, work, counted)
        : inSavepoint(tx, work);
    },
    within: joined.run,
    epoch: primary.epoch,
    close: async () => {
      primary.close();
      await pool.end();
    },
  };
}

/** Opens a session on the primary; looks for the primary once if it has moved. */
async function connectTo(
  take: () => Promise<pg.PoolClient>,
  primary: Primary,
): Promise<pg.PoolClient> {
  await primary.find();
  try {
    return await take();
  } catch (error) {
    if (!primary.doubt(error)) throw error;
    await primary.find();
    return take();
  }
}

/** Tracks the transaction that the current course of calls has joined. */
function openJoined() {
  const scopes = new AsyncLocalStorage<{ tx: Transaction | undefined }>();
  return {
    present: () => scopes.getStore()?.tx,
    run: async <Result>(tx: Transaction, work: () => Promise<Result>): Promise<Result> => {
      const scope: { tx: Transaction | undefined } = { tx };
      try {
        return await scopes.run(scope, work);
      } finally {
        // A timer or connection that `work` begins and that outlives it finds no transaction.
        scope.tx = undefined;
      }
    },
  };
}

async function inTransaction<Result>(
  { connect, primary }: { connect: () => Promise<pg.PoolClient>; primary: Primary },
  work: (tx: Transaction) => Promise<Result>,
  counted: (client: pg.PoolClient) => Send,
): Promise<Result> {
  const client = await connect();
  let broken: Error | undefined;
  // One that the server ends in the middle of a transaction is not given back.
  const onLost = (error: Error) => {
    broken ??= error;
  };
  client.on('error', onLost);
  try {
    const begun = client.query('BEGIN');
    const { tx, flush } = openTransaction(afterBegin(begun, counted(client)));
    const result = await work(tx);
    await begun;
    await Promise.all([flush(), traced({ text: 'COMMIT' }, () => ask(client, { text: 'COMMIT' }))]);
    return result;
  } catch (error) {
    primary.doubt(error);
    // A connection on which even ROLLBACK fails is thrown away, so that nobody inherits a half-open
    // transaction.
    await client.query('ROLLBACK').catch((rollbackError: Error) => {
      broken ??= rollbackError;
    });
    throw error;
  } finally {
    client.off('error', onLost);
    client.release(broken);
  }
}

/** A transaction with what it keeps back; `flush` sends that. */
function openTransaction(send: Send): { tx: Transaction; flush: () => Promise<void> } {
  let kept: { statement: Statement; told: (fault: unknown) => unknown }[] = [];
  const flush = async () => {
    const sent = kept.map(async ({ statement, told }) => {
      await prepared(send, statement).catch((fault: unknown) => {
        throw told(fault);
      });
    });
    kept = [];
    // The first fault in their order: it is the reason for those behind it.
    for (const one of await Promise.allSettled(sent))
      if (one.status === 'rejected') throw one.reason;
  };
  const inOrder: Send = async (config) => {
    if (kept.length === 0) return send(config);
    const flushed = flush();
    const sent = send(config);
    // The kept statement comes first, also with its fault: statements behind a fault fail for it.
    sent.catch(() => undefined);
    await flushed;
    return sent;
  };
  const tx: Transaction = {
    ...queryable(inOrder),
    transaction_open: true,
    lastly: (statement, told = (fault) => fault) => void kept.push({ statement, told }),
  };
  return { tx, flush };
}

/**
 * Sends what only reads and locks along with BEGIN. Anything else waits until that is answered: it
 * would be done for good where BEGIN failed.
 */
function afterBegin(begun: Promise<unknown>, send: Send): Send {
  let waits = false;
  let isBegun = false;
  // Whoever ends the transaction hears of its fault.
  begun.then(
    () => (isBegun = true),
    () => undefined,
  );
  return async (config) => {
    waits ||= !/^\s*SELECT\b/.test(config.text);
    if (waits && !isBegun) await begun;
    return send(config);
  };
}
