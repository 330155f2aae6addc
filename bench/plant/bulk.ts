// Plants millions of rows in minutes.
import sql, { raw } from 'sql-template-tag';
import type { Database, Transaction } from '../../server/platform/postgres/database.ts';

/**
 * Plants rows of a table without its indexes, which are rebuilt at the end, and without foreign key
 * checks for each row. The columns of constraints stay.
 */
export async function inBulk(
  db: Database,
  table: string,
  plant: (tx: Transaction) => Promise<unknown>,
): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.text(`SET LOCAL session_replication_role = replica;
      SET LOCAL maintenance_work_mem = '512MB'; SET LOCAL work_mem = '128MB'`);
    const indexes = await tx.rows<{ name: string; definition: string }>(sql`
      SELECT i.indexrelid::regclass::text AS name, pg_get_indexdef(i.indexrelid) AS definition
      FROM pg_index i WHERE i.indrelid = ${table}::regclass
        AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid)`);
    for (const { name } of indexes) await tx.run(sql`DROP INDEX ${raw(name)}`);
    await plant(tx);
    for (const { definition } of indexes) await tx.text(definition);
  });
}
