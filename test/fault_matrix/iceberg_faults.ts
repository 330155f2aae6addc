import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import { createTable } from '../../server/engine/model/lake_catalog/commit.ts';
import { createNamespace } from '../../server/engine/model/lake_catalog/namespaces.ts';
import { newSchema } from '../../server/engine/destinations/lake/schema.ts';
import type { QueryHarness } from '../factories/batch_exports/query_exports.ts';
import type { FaultCase, Scene } from './matrix.ts';

let tables = 0;

/** Faults of the Iceberg destination, with its files in the folder of exports. */
export function icebergFaults({ harness }: QueryHarness): FaultCase[] {
  const scene = (fault: (table: string) => Partial<Scene>) => async (): Promise<Scene> => {
    const table = `faults_${(tables += 1)}`;
    return {
      config: { storage: 'File', table },
      visible: () => rowsIn(harness, table),
      ...fault(table),
    };
  };
  return [
    {
      destination: 'Iceberg',
      fault: 'the control store fails while the table changes',
      code: 'internal',
      ending: 'tried again',
      prepare: scene((table) => ({
        strike: () => refuseChanges(harness, table),
        lift: () => allowChanges(harness, table),
      })),
    },
    {
      destination: 'Iceberg',
      fault: 'a column of the table has another type',
      code: 'table_unsuitable',
      ending: 'Failed',
      prepare: scene((table) => ({
        strike: (run) => createOther(harness, table, run),
        lift: async () =>
          void (await harness.deps.db.run(sql`DELETE FROM lake_tables WHERE name = ${table}`)),
      })),
    },
  ];
}

/** The rows of the current snapshot, according to its summary. */
async function rowsIn({ deps }: QueryHarness['harness'], table: string): Promise<number> {
  const row = await deps.db.row<{ records: number }>(sql`
    SELECT (snapshot::jsonb -> 'summary' ->> 'total-records')::int AS records
    FROM lake_snapshots s JOIN lake_tables t ON t.id = s.table_id WHERE t.name = ${table}
    ORDER BY s.number DESC LIMIT 1`);
  return row?.records ?? 0;
}

async function refuseChanges({ deps }: QueryHarness['harness'], table: string): Promise<void> {
  await deps.db.text(`
    CREATE FUNCTION refuse_${table}() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'the store is broken'; END $$`);
  await deps.db.text(`
    CREATE TRIGGER refuse_${table} BEFORE UPDATE ON lake_tables FOR EACH ROW
    WHEN (NEW.name = '${table}') EXECUTE FUNCTION refuse_${table}()`);
}

async function allowChanges({ deps }: QueryHarness['harness'], table: string): Promise<void> {
  await deps.db.text(`DROP FUNCTION refuse_${table} CASCADE`);
}

/** A client of the catalog created the table before the export. */
async function createOther(
  { deps }: QueryHarness['harness'],
  name: string,
  run: { batch_export_id: string },
): Promise<void> {
  const row = await deps.db.row<{ team_id: number }>(
    sql`SELECT team_id FROM batch_exports WHERE id = ${run.batch_export_id}`,
  );
  const { team_id } = row!;
  const folder = `file://${deps.engine.export_dir}/lake/${team_id}/sluice`;
  const place = { properties: {}, location: folder, batch_export_id: null };
  await deps.db.transaction(async (tx) => {
    const namespace = await createNamespace(tx, { team_id, levels: ['sluice'], ...place });
    await createTable(
      tx,
      { team_id, namespace, name, batch_export_id: null },
      {
        table_uuid: randomUUID(),
        location: `${folder}/${name}`,
        schema: newSchema([{ name: 'event', type: 'integer' }]),
      },
      { writeFile: async () => undefined, now_ms: deps.clock.now() },
    );
  });
}
