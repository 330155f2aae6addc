import pg from 'pg';
import { ask } from './session.ts';

/** The parts of pg's connection that a statement uses. */
type Connection = {
  stream: { cork(): void; uncork(): void };
  describe(portal: object): void;
  sync(): void;
  emit(event: 'readyForQuery' | 'errorMessage', message: object): void;
};

/** The columns of a statement's rows, and the way that pg reads them. */
type Form = { fields: object[]; _parsers: unknown; _prebuiltEmptyResultObject: unknown };

/** The parts of pg's query that its types do not have. */
type PgQuery = {
  name: string;
  _result: Form;
  submit(connection: Connection): Error | null;
  handleCommandComplete(message: object, connection: Connection): void;
  handleError(error: Error, connection: Connection): void;
};
const PgQuery = pg.Query as unknown as new (
  config: pg.QueryConfig,
  values: undefined,
  done: (error: Error | null, result: pg.QueryResult) => void,
) => PgQuery;

/** The forms of a session's prepared statements, and views of its connection without Sync. */
type Session = { forms: Map<string, Form>; whole: Connection; short: Connection };
const sessions = new WeakMap<Connection, Session>();

function sessionOf(connection: Connection): Session {
  let session = sessions.get(connection);
  if (session === undefined) {
    const nothing = () => {};
    const whole: Connection = Object.assign(Object.create(connection), { sync: nothing });
    const short: Connection = Object.assign(Object.create(whole), { describe: nothing });
    session = { forms: new Map(), whole, short };
    sessions.set(connection, session);
  }
  return session;
}

/**
 * A named statement of a group. PostgreSQL describes its rows once per session, because a prepared
 * statement keeps them.
 */
class GroupedStatement extends PgQuery {
  /** Only the last one of a group ends it, and PostgreSQL is ready for others afterwards. */
  isLast = false;

  override submit(connection: Connection): Error | null {
    const { forms, whole, short } = sessionOf(connection);
    const form = forms.get(this.name);
    if (form === undefined) return super.submit(whole);
    const { _result: result } = this;
    Object.assign(result, form);
    Object.assign(this, { _accumulateRows: true });
    return super.submit(short);
  }

  override handleCommandComplete(message: object, connection: Connection): void {
    super.handleCommandComplete(message, connection);
    const { forms } = sessionOf(connection);
    const { _result: result } = this;
    const { fields, _parsers, _prebuiltEmptyResultObject } = result;
    if (!forms.has(this.name))
      forms.set(this.name, { fields, _parsers, _prebuiltEmptyResultObject });
    if (!this.isLast) connection.emit('readyForQuery', { status: 'T' });
  }

  override handleError(error: Error, connection: Connection): void {
    super.handleError(error, connection);
    // PostgreSQL skips the rest of the group, so the next one gets the same fault.
    if (this.isLast || !(error instanceof pg.DatabaseError)) return;
    connection.emit('readyForQuery', { status: 'E' });
    connection.emit('errorMessage', error);
  }
}

/**
 * Writes an object as JSON, also within an array. If that fails, no part of its statement has been
 * sent yet.
 */
function writable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(writable);
  const isPlain = typeof value === 'object' && value !== null;
  return isPlain &&
    !Buffer.isBuffer(value) &&
    !(value instanceof Date) &&
    !ArrayBuffer.isView(value)
    ? JSON.stringify(value)
    : value;
}

/** Statements that go to PostgreSQL together. */
export type Group = {
  /** Adds a statement, which runs after the earlier ones unless one of them fails. */
  send(config: pg.QueryConfig & { name: string }): Promise<pg.QueryResult>;
  /** Ends the group, so that other messages may follow. */
  end(): void;
  /** Returns true while statements may join. */
  isOpen(): boolean;
};

/**
 * Opens the groups of a session. A group ends with the turn in which it began. Its statements need
 * one write, and PostgreSQL answers all of them at once.
 */
export function openGroup(client: pg.ClientBase): Group {
  const { connection } = client as unknown as { connection: Connection };
  let last: GroupedStatement | undefined;
  const end = () => {
    if (last === undefined) return;
    last.isLast = true;
    last = undefined;
    connection.sync();
    connection.stream.uncork();
  };
  return {
    send: (config) =>
      new Promise((resolve, reject) => {
        const values = config.values?.map(writable);
        if (last === undefined) {
          connection.stream.cork();
          process.nextTick(end);
        }
        last = new GroupedStatement({ ...config, values }, undefined, (error, result) => {
          if (error === null) return resolve(result);
          // Its own stack ends at the socket.
          Error.captureStackTrace(error);
          reject(error);
        });
        client.query(last as unknown as pg.Submittable);
      }),
    end,
    isOpen: () => last !== undefined,
  };
}

/** Sends a statement, and returns its answer. */
export type Send = (config: pg.QueryConfig) => Promise<pg.QueryResult>;

/** Sends named statements of one turn together, and other text alone. */
export function sender(client: pg.ClientBase, group: Group): Send {
  return async (config) => {
    const { name } = config;
    if (name !== undefined) return ask(client, group.send({ ...config, name }));
    group.end();
    return ask(client, client.query(config));
  };
}

/** Sends a statement that waits for no other one. */
export function sendAlone(
  client: pg.ClientBase,
  counted: (send: Send) => Send,
  config: pg.QueryConfig,
): Promise<pg.QueryResult> {
  const group = openGroup(client);
  const answer = counted(sender(client, group))(config);
  group.end();
  return answer;
}

/**
 * Sends statements of the same turn along with BEGIN: PostgreSQL skips them if BEGIN fails. Others
 * wait for its answer, because they would be permanent then.
 */
export function afterBegin(begun: Promise<unknown>, group: Group, send: Send): Send {
  let waits = false;
  let isBegun = false;
  // The code that ends the transaction gets its fault.
  begun.then(
    () => (isBegun = true),
    () => undefined,
  );
  return async (config) => {
    waits ||= config.name === undefined || !group.isOpen();
    if (waits && !isBegun) await begun;
    return send(config);
  };
}
