import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import sql from 'sql-template-tag';
import type { ClickHouse } from '../../server/platform/clickhouse/client.ts';
import type { Database } from '../../server/platform/postgres/database.ts';
import type { QueryHarness } from '../factories/batch_exports/query_exports.ts';
import { linesIn } from './file_faults.ts';
import type { FaultCase, Scene } from './matrix.ts';

type Maker = (
  fault: string,
  code: string,
  ending: FaultCase['ending'],
  changes: Partial<Scene>,
) => FaultCase;

let places = 0;

/**
 * Faults of our own stores and of the run itself; they are the same whatever the destination, here
 * files.
 */
export function engineFaults({ harness, folder }: QueryHarness): FaultCase[] {
  const files: Maker = (fault, code, ending, changes) => ({
    destination: 'File',
    fault,
    code,
    ending,
    prepare: async () => {
      const prefix = `faults/engine-${(places += 1)}`;
      return { config: { prefix }, visible: () => linesIn(join(folder, prefix)), ...changes };
    },
  });
  return [...storeFaults(harness.deps.db, files), ...runFaults(harness.deps.db, files)];
}

function storeFaults(db: Database, files: Maker): FaultCase[] {
  return [
    files(
      'ClickHouse breaks off in the middle of a slice',
      'internal',
      'tried again',
      once((engine) => ({ ...engine, clickhouse: breakingStore(engine.clickhouse) })),
    ),
    files(
      'ClickHouse is gone when the rows are counted',
      'internal',
      'tried again',
      once((engine) => ({ ...engine, clickhouse: absentStore(engine.clickhouse) })),
    ),
    files('fewer rows are read than were counted', 'count_mismatch', 'tried again', {
      strike: async ({ id }) => countAs(db, id, 4),
      lift: async ({ id }) => countAs(db, id, 3),
    }),
    files('more rows are read than were counted', 'count_mismatch', 'tried again', {
      strike: async ({ id }) => countAs(db, id, 2),
      lift: async ({ id }) => countAs(db, id, 3),
    }),
    files('PostgreSQL restarts before the delivery is shown', 'internal', 'tried again', {
      strike: async ({ id }) => void (await db.text(endingAtCommit(id))),
      lift: async () =>
        void (await db.text(
          'DROP TRIGGER end_session ON batch_export_runs; DROP FUNCTION end_session',
        )),
    }),
  ];
}

function runFaults(db: Database, files: Maker): FaultCase[] {
  return [
    files('this server lacks the destination', 'unknown_destination', 'Failed', {
      strike: async ({ batch_export_id }) => setType(db, batch_export_id, 'Floppy'),
      lift: async ({ batch_export_id }) => setType(db, batch_export_id, 'File'),
    }),
    files('the secrets cannot be opened', 'secrets_unreadable', 'Failed', {
      strike: async ({ batch_export_id }) =>
        void (await db.run(
          sql`UPDATE batch_exports SET destination_secrets = '\\x0102'
            WHERE id = ${batch_export_id}`,
        )),
      lift: async ({ batch_export_id }) =>
        void (await db.run(
          sql`UPDATE batch_exports SET destination_secrets = NULL WHERE id = ${batch_export_id}`,
        )),
    }),
    files('the query meets a text that is no number', 'query_failed', 'Failed', {
      body: { custom_query: 'SELECT toInt64(event) AS number FROM events' },
      is_lasting: true,
    }),
    files('the run is cancelled before it is begun', 'cancelled', 'Cancelled', {
      strike: async ({ id }) =>
        void (await db.run(
          sql`UPDATE batch_export_runs SET cancel_requested_at = now() WHERE id = ${id}`,
        )),
    }),
    files('the export is deleted', 'cancelled', 'Cancelled', {
      strike: async ({ batch_export_id }) =>
        void (await db.run(
          sql`UPDATE batch_exports SET deleted_at = now() WHERE id = ${batch_export_id}`,
        )),
      is_lasting: true,
    }),
  ];
}

/** Only the first attempt has the faulty engine. */
function once(faulty: NonNullable<Scene['engine']>): Partial<Scene> {
  let isFirst = true;
  return {
    engine: (engine) => {
      const given = isFirst ? faulty(engine) : engine;
      isFirst = false;
      return given;
    },
  };
}

/** Cuts slices as if this many rows had been counted. */
async function countAs(db: Database, run_id: string, counted: number): Promise<void> {
  await db.run(
    sql`UPDATE batch_export_runs SET records_total_count = ${counted} WHERE id = ${run_id}`,
  );
  await db.run(sql`
    INSERT INTO batch_export_slices (run_id, number, inserted_from, inserted_to, records)
      VALUES (${run_id}, 0, '2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z', ${counted})
    ON CONFLICT (run_id, number) DO UPDATE SET records = excluded.records`);
}

async function setType(db: Database, id: string, type: string): Promise<void> {
  assert.equal(
    await db.run(sql`UPDATE batch_exports SET destination_type = ${type} WHERE id = ${id}`),
    1,
  );
}

/** Breaks every streamed answer off after its first bytes, like a killed server. */
function breakingStore(client: ClickHouse): ClickHouse {
  return withMethod(client, 'exec', async (parameters: Parameters<ClickHouse['exec']>[0]) => {
    const answer = await client.exec(parameters);
    const begun = async function* () {
      for await (const chunk of answer.stream) {
        yield (chunk as Buffer).subarray(0, 10);
        throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
      }
    };
    return { ...answer, stream: Readable.from(begun(), { objectMode: false }) };
  });
}

function absentStore(client: ClickHouse): ClickHouse {
  return withMethod(client, 'query', () =>
    Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })),
  );
}

/**
 * PostgreSQL ends the connection that marks the start of the commit, like a restart at that moment.
 */
const endingAtCommit = (run_id: string) => `
  CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM
    pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$;
  CREATE TRIGGER end_session BEFORE UPDATE ON batch_export_runs FOR EACH ROW
    WHEN (NEW.id = '${run_id}' AND OLD.committing_at IS NULL
      AND NEW.committing_at IS NOT NULL) EXECUTE FUNCTION end_session()`;

/** Returns the client with one method replaced. */
export function withMethod(client: ClickHouse, name: string, method: unknown): ClickHouse {
  return Object.assign(Object.create(client) as ClickHouse, { [name]: method });
}
