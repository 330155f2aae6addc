import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { batchCalls } from '../../platform/pacing/batched_calls.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';

/** Pause after a step, in which runs at the same step form a batch. */
export const step_rest_ms = 10;

/** Severity of a line for readers of an export's log. */
export type LogLevel = 'DEBUG' | 'INFO' | 'WARNING' | 'ERROR';

/**
 * A line of the log that users read. The message is a sentence without secrets. `run_id` is null
 * for lines about the export itself.
 */
type LogLine = { batch_export_id: string; run_id: string | null; level: LogLevel; message: string };

/** Adds a line. Does nothing if the export is gone. */
export async function writeRunLog(queryable: Queryable, line: LogLine): Promise<void> {
  await writeRunLogs(queryable, [line]);
}

/** Adds lines in order. Skips exports that are gone. */
export async function writeRunLogs(queryable: Queryable, lines: LogLine[]): Promise<void> {
  await queryable.run(sql`
    INSERT INTO batch_export_logs (batch_export_id, run_id, level, message)
    SELECT line.batch_export_id, line.run_id, line.level, line.message
    FROM unnest(${lines.map((line) => line.batch_export_id)}::uuid[],
      ${lines.map((line) => line.run_id)}::uuid[], ${lines.map((line) => line.level)}::text[],
      ${lines.map((line) => line.message)}::text[]) WITH ORDINALITY AS line (batch_export_id,
        run_id, level, message, number)
    WHERE EXISTS (SELECT 1 FROM batch_exports WHERE id = line.batch_export_id)
      ORDER BY line.number`);
}

/** Returns a statement that adds a line about each export whose id `exports` selects. */
export function lineOfEach(exports: Sql, level: LogLevel, message: string): Sql {
  return sql`INSERT INTO batch_export_logs (batch_export_id, level, message)
    SELECT id, ${level}, ${message} FROM ${exports}`;
}

/** Adds a line like `writeRunLog`, in one batch with lines of concurrent calls. */
export const noteInRunLog = batchCalls<Database, LogLine, true>({
  together: async (db, lines) => {
    // SKIP LOCKED: the line's foreign key takes this lock on the export's row. Without it, one
    // locked export would delay the lines of all others.
    const written = await db.rows<{ number: number }>(sql`
      WITH line AS MATERIALIZED (
        SELECT * FROM unnest(${lines.map((line) => line.batch_export_id)}::uuid[],
          ${lines.map((line) => line.run_id)}::uuid[], ${lines.map((line) => line.level)}::text[],
          ${lines.map((line) => line.message)}::text[]) WITH ORDINALITY AS line (batch_export_id,
            run_id, level, message, number)
      ), free AS MATERIALIZED (
        SELECT id FROM batch_exports WHERE id IN (SELECT batch_export_id FROM line)
          FOR KEY SHARE SKIP LOCKED
      ), written AS (
        INSERT INTO batch_export_logs (batch_export_id, run_id, level, message)
        SELECT batch_export_id, run_id, level, message FROM line WHERE batch_export_id IN (SELECT id
          FROM free) ORDER BY number
      )
      SELECT number FROM line WHERE batch_export_id IN (SELECT id FROM free)`);
    const numbers = new Set(written.map(({ number }) => number));
    return lines.map((_, index) => (numbers.has(index + 1) ? true : undefined));
  },
  rest_ms: step_rest_ms,
  alone: async (db, line) => {
    await writeRunLog(db, line);
    return true;
  },
});
