import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';

/** A table with the columns that are stored (not those that are computed of others). */
export type CopiedTable = { name: string; columns: string[] };

/** One session that copies whole tables. What it does is one transaction. */
export type CopySession = {
  rows<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  /** The ordinary tables of the schema, by name. */
  tables(): Promise<CopiedTable[]>;
  /** The rows of a table as COPY's text; `count` says how many when the stream has ended. */
  copyOut(table: CopiedTable): { bytes: Readable; count(): number };
  /** Takes COPY's text and gives how many rows came. */
  copyIn(table: CopiedTable, bytes: Readable): Promise<number>;
  /** Ends the transaction with what it did, and the session. */
  commit(): Promise<void>;
  /** Ends the session; what was not committed is rolled back. Harmless after `commit`. */
  close(): Promise<void>;
};

/**
 * Opens a session in a transaction: `snapshot` sees the database as of one instant and changes
 * nothing, `load` changes it. The session may be idle for as long as a copy of something else takes.
 */
export async function openCopySession(
  url: string,
  kind: 'snapshot' | 'load',
): Promise<CopySession> {
  const client = new pg.Client({
    connectionString: url,
    application_name: `sluice-${kind}`,
    options: '-c timezone=UTC -c idle_in_transaction_session_timeout=0 -c lock_timeout=60000',
  });
  // What breaks an idle session is told by the next statement.
  client.on('error', () => {});
  await client.connect();
  await client.query(
    kind === 'snapshot' ? 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' : 'BEGIN',
  );
  let isOpen = true;
  const close = async () => {
    if (isOpen) await client.end().catch(() => undefined);
    isOpen = false;
  };
  return {
    rows: async <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) =>
      (await client.query<Row>(text, values)).rows,
    tables: async () => (await client.query<CopiedTable>(tables_query)).rows,
    copyOut: (table) => {
      const stream = client.query(copyTo(`COPY ${listed(table)} TO STDOUT`));
      return { bytes: stream, count: () => (stream as { rowCount?: number }).rowCount ?? 0 };
    },
    copyIn: async (table, bytes) => {
      const stream = client.query(copyFrom(`COPY ${listed(table)} FROM STDIN`));
      await pipeline(bytes, stream);
      return (stream as { rowCount?: number }).rowCount ?? 0;
    },
    commit: async () => {
      await client.query('COMMIT');
      await close();
    },
    close,
  };
}

const tables_query = `
  SELECT class.relname AS name, array_agg(attribute.attname::text ORDER BY attnum) AS columns
  FROM pg_class class JOIN pg_attribute attribute ON attribute.attrelid = class.oid
  WHERE class.relkind = 'r' AND class.relnamespace = current_schema()::regnamespace
    AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
  GROUP BY class.relname ORDER BY class.relname`;

function listed({ name, columns }: CopiedTable): string {
  return `${pg.escapeIdentifier(name)} (${columns.map(pg.escapeIdentifier).join(', ')})`;
}

/**
 * The tables in an order in which each comes after those that its rows refer to. Throws where they
 * refer to each other in a circle.
 */
export async function inOrderOfReferences<Table extends { name: string }>(
  session: Pick<CopySession, 'rows'>,
  tables: Table[],
): Promise<Table[]> {
  const references = await session.rows<{ table: string; refers_to: string }>(`
    SELECT conrelid::regclass::text AS table, confrelid::regclass::text AS refers_to
    FROM pg_constraint WHERE contype = 'f' AND conrelid <> confrelid
      AND connamespace = current_schema()::regnamespace`);
  const ordered: Table[] = [];
  let waiting = tables;
  while (waiting.length > 0) {
    const names = new Set(waiting.map(({ name }) => name));
    const isFree = ({ name }: Table) =>
      references.every(({ table, refers_to }) => table !== name || !names.has(refers_to));
    const free = waiting.filter(isFree);
    if (free.length === 0)
      throw new Error(`Tables refer to each other in a circle: ${[...names].join(', ')}.`);
    ordered.push(...free);
    waiting = waiting.filter((table) => !free.includes(table));
  }
  return ordered;
}
