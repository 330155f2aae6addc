import sql from 'sql-template-tag';
import type { Queryable } from '../platform/postgres/database.ts';

/** How much a line matters to the person who reads an export's log. */
export type LogLevel = 'DEBUG' | 'INFO' | 'WARNING' | 'ERROR';

/** Adds a line to the log that users read. The message is a sentence without secrets; `run_id` is null for lines about the export itself. */
export async function writeRunLog(
  queryable: Queryable,
  line: { batch_export_id: string; run_id: string | null; level: LogLevel; message: string },
): Promise<void> {
  await queryable.run(sql`
    INSERT INTO batch_export_logs (batch_export_id, run_id, level, message)
    SELECT ${line.batch_export_id}, ${line.run_id}, ${line.level}, ${line.message}
    WHERE EXISTS (SELECT 1 FROM batch_exports WHERE id = ${line.batch_export_id})`);
}
