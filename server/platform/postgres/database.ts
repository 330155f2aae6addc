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
import { afterBegin, openGroup, sendAlone, sender } from './statements.ts';
import type { Send } from './statements.ts';
import { traced } from './traced.ts';
import { wireTypes } from './wire_types.ts';

/** A statement's text and values: from `sql`, or composed earlier. */
export type Statement = Pick<Sql, 'text' | 'values'>;

/**
 * Operations of both the pool and an open transaction. Every statement is named after its text, so
 * PostgreSQL prepares it once per connection.
 */
export type Queryable = {
  /** Returns all rows of the statement, in its order. */
  rows<Row>(statement: Statement): Promise<Row[]>;
  /** Returns the first row, or undefined if there is none. */
  row<Row>(statement: Statement): Promise<Row | undefined>;
  /** Runs the statement and returns the number of affected rows. */
  run(statement: Statement): Promise<number>;
  /**
   * Runs unprepared text with positional values, for text that cannot be prepared: settings of a
   * transaction, migrations.
   */
  text(
    text: string,
    values?: unknown[],
  ): Promise<{ rows: Record<string, unknown>[]; rowCount: number | null }>;
};

/**
 * An open transaction. It ends when the function that received it returns or throws; a later
 * statement is an error, because it would be permanent. Statements that do not wait for each other
 * are sent together and run in order; each sees the changes of the earlier ones.
 */
export type Transaction = Queryable & {
  readonly transaction_open: true;
  /**
   * Defers a statement until the transaction ends, and sends it with the COMMIT; later statements
   * follow it. Its fault fails the whole transaction, as the error that `told` returns.
   */
  lastly(statement: Statement, told?: (fault: unknown) => unknown): void;
};

/** The pool of connections to the control store. */
export type Database = Queryable & {
  /** Runs `work` in one transaction: commits when it returns, rolls back when it throws. */
  transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
  /**
   * Joins `work` to an open transaction: its statements on this database run there, and a
   * transaction inside it is a savepoint. So parts that open their own transactions commit or roll
   * back together. Calls that continue after `work` has returned are no longer joined.
   */
  within<Result>(tx: Transaction, work: () => Promise<Result>): Promise<Result>;
  /** Returns the number of statements sent so far, for tests that count round trips. */
  statementCount(): number;
  /**
   * Returns the latest primary of a session; undefined before the first one, or if the server does
   * not report it.
   */
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

/** Returns true for an error that PostgreSQL itself reported, with its SQLSTATE in `code`. */
export function isDatabaseError(error: unknown): error is DatabaseError {
  // By its class: EPIPE, of a broken socket, looks like an SQLSTATE.
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

function prepared(send: Send, statement: Statement): Promise<pg.QueryResult> {
  // Its text and values are computed again at every access.
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
 * Opens a pool for a PostgreSQL URL (15 or newer), which may name several servers. Guarantees:
 * sessions run in UTC, on the primary. Timestamps are ISO 8601 text with `Z` and full microseconds.
 * 64-bit integers are numbers. A broken idle connection is replaced and does not end the process. A
 * caller that waits for a server that answers nobody gets an error within ten seconds. A commit
 * that a synchronous standby did not confirm is a `StoreAwayError`.
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
    // A statement does not wait for the previous answer on its connection.
    pipeline: true,
  });
  // A session that the pool ends may first hear that its server is ending.
  pool.on('error', (error) => (pool.ending ? undefined : options.onError?.(error)));
  const take = openGrowth(pool, options.connections_max);
  const connect = () => connectTo(take, primary);
  let statements = 0;
  const counted =
    (send: Send): Send =>
    (config) => {
      statements += 1;
      return traced(config, () => send(config));
    };
  const joined = openJoined();
  const direct = queryable(async (config) => {
    const client = await connect();
    let fault: Error | undefined;
    try {
      return await sendAlone(client, counted, config);
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

/** Opens a session on the primary; searches for the primary once if it has moved. */
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

/** Tracks the transaction that the current chain of calls has joined. */
function openJoined() {
  const scopes = new AsyncLocalStorage<{ tx: Transaction | undefined }>();
  return {
    present: () => scopes.getStore()?.tx,
    run: async <Result>(tx: Transaction, work: () => Promise<Result>): Promise<Result> => {
      const scope: { tx: Transaction | undefined } = { tx };
      try {
        return await scopes.run(scope, work);
      } finally {
        // A timer or connection that `work` starts and that outlives it finds no transaction.
        scope.tx = undefined;
      }
    },
  };
}

async function inTransaction<Result>(
  { connect, primary }: { connect: () => Promise<pg.PoolClient>; primary: Primary },
  work: (tx: Transaction) => Promise<Result>,
  counted: (send: Send) => Send,
): Promise<Result> {
  const client = await connect();
  const group = openGroup(client);
  const send = sender(client, group);
  let broken: Error | undefined;
  // A connection that the server ends within a transaction is not returned to the pool.
  const onLost = (error: Error) => {
    broken ??= error;
  };
  client.on('error', onLost);
  try {
    const begun = send({ name: 'begin', text: 'BEGIN' });
    const { tx, flush, end } = openTransaction(afterBegin(begun, group, counted(send)));
    const result = await work(tx).finally(end);
    await begun;
    const flushed = flush();
    const committed = traced({ text: 'COMMIT' }, () => send({ name: 'commit', text: 'COMMIT' }));
    // A fault of a deferred statement fails the COMMIT behind it too.
    committed.catch(() => undefined);
    await flushed;
    await committed;
    return result;
  } catch (error) {
    primary.doubt(error);
    // After a failed ROLLBACK, the connection is closed, so that nobody gets an open transaction.
    group.end();
    await client.query('ROLLBACK').catch((rollbackError: Error) => {
      broken ??= rollbackError;
    });
    throw error;
  } finally {
    client.off('error', onLost);
    client.release(broken);
  }
}

/** A transaction with its deferred statements: `flush` sends them, `end` allows no others. */
function openTransaction(send: Send): {
  tx: Transaction;
  flush: () => Promise<void>;
  end: () => void;
} {
  let isOver = false;
  let kept: { statement: Statement; told: (fault: unknown) => unknown }[] = [];
  const flush = async () => {
    const sent = kept.map(async ({ statement, told }) => {
      await prepared(send, statement).catch((fault: unknown) => {
        throw told(fault);
      });
    });
    kept = [];
    // The first fault in order: it causes the later ones.
    for (const one of await Promise.allSettled(sent))
      if (one.status === 'rejected') throw one.reason;
  };
  const inOrder: Send = async (config) => {
    if (isOver) throw new Error('A statement came after the end of its transaction.');
    if (kept.length === 0) return send(config);
    const flushed = flush();
    const sent = send(config);
    // The deferred statement comes first, also with its fault: later statements fail because of it.
    sent.catch(() => undefined);
    await flushed;
    return sent;
  };
  const tx: Transaction = {
    ...queryable(inOrder),
    transaction_open: true,
    lastly: (statement, told = (fault) => fault) => void kept.push({ statement, told }),
  };
  return { tx, flush, end: () => void (isOver = true) };
}
