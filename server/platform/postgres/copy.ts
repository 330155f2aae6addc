import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { findPrimaryUrl } from './primary.ts';
import { settle } from './session_settings.ts';

/** A table with its stored columns, without computed ones. */
export type CopiedTable = { name: string; columns: string[] };

/** One session that copies whole tables in one transaction. */
export type CopySession = {
  rows<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Returns the ordinary tables of the schema, by name. */
  tables(): Promise<CopiedTable[]>;
  /**
   * Returns the rows of a table as COPY's text; `count` returns their number when the stream has
   * ended.
   */
  copyOut(table: CopiedTable): { bytes: Readable; count(): number };
  /** Returns the columns of a relation: a table, or a query in parentheses. */
  columnsOf(relation: string): Promise<{ name: string; is_bytes: boolean }[]>;
  /** Returns the rows of a query of one JSON value, one per line; `count` as in `copyOut`. */
  copyLines(query: string): { bytes: Readable; count(): number };
  /** Reads COPY's text and returns the number of rows. */
  copyIn(table: CopiedTable, bytes: Readable): Promise<number>;
  /** Commits the transaction, and ends the session. */
  commit(): Promise<void>;
  /** Ends the session; uncommitted changes are rolled back. Harmless after `commit`. */
  close(): Promise<void>;
};

/**
 * Opens a session in a transaction: `snapshot` sees the database as of one instant and changes
 * nothing, `load` changes it. The session may be idle while another copy runs.
 */
export async function openCopySession(
  url: string,
  kind: 'snapshot' | 'load',
): Promise<CopySession> {
  const client = new pg.Client({
    connectionString: await findPrimaryUrl(url),
    application_name: `sluice-${kind}`,
  });
  // The next statement reports the fault that breaks an idle session.
  client.on('error', () => {});
  await client.connect();
  await settle(client, { idle_in_transaction_session_timeout: '0', lock_timeout: '1min' });
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
    copyOut: (table) => copied(client, listed(table), ''),
    columnsOf: async (relation) => {
      const { fields } = await client.query(`SELECT * FROM ${relation} t LIMIT 0`);
      return fields.map(({ name, dataTypeID }) => ({
        name,
        is_bytes: dataTypeID === pg.types.builtins.BYTEA,
      }));
    },
    // JSON has no control characters, so nothing in it is quoted or escaped.
    copyLines: (query) =>
      copied(client, `(${query})`, ` WITH (FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02')`),
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

function copied(client: pg.Client, source: string, options: string) {
  const stream = client.query(copyTo(`COPY ${source} TO STDOUT${options}`));
  return { bytes: stream, count: () => (stream as { rowCount?: number }).rowCount ?? 0 };
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
 * Runs `work` without references between tables, so that they may be filled in any order.
 * Afterwards all references are restored and checked; the transaction fails if one is wrong.
 */
export async function withoutReferences(
  session: Pick<CopySession, 'rows'>,
  work: () => Promise<void>,
): Promise<void> {
  const references = await session.rows<{ on: string; name: string; definition: string }>(`
    SELECT conrelid::regclass::text AS on, quote_ident(conname) AS name,
      pg_get_constraintdef(oid) AS definition
    FROM pg_constraint WHERE contype = 'f' AND connamespace = current_schema()::regnamespace
    ORDER BY conrelid, conname`);
  for (const { on, name } of references)
    await session.rows(`ALTER TABLE ${on} DROP CONSTRAINT ${name}`);
  await work();
  for (const { on, name, definition } of references)
    await session.rows(`ALTER TABLE ${on} ADD CONSTRAINT ${name} ${definition}`);
}
