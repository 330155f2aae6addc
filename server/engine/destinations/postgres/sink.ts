import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Delivery, DestinationDeps, Manifest, Sink } from '../../destination.ts';
import { isMerged } from '../../sql_tables/layout.ts';
import { connect } from '../../sql_tables/postgres_connection.ts';
import type { Connection } from '../../sql_tables/postgres_connection.ts';
import { withPostgresErrors } from '../../sql_tables/postgres_faults.ts';
import { openStagedSink, requireRecords } from '../../sql_tables/staged_sink.ts';
import { accessOf, targetOf } from './config.ts';
import type { PostgresConfig } from './config.ts';
import { columnList, dropStage, makeStage, moveStage, stageOf, stageSlice, takeStageOver } from './stage.ts';
import { mergeStatement, prepareTables, tableExists } from './table.ts';

type Session = { connection: Connection; config: PostgresConfig; delivery: Delivery };

const lock_timeout_seconds = 60;

/**
 * Opens an attempt at a delivery. Everything it does is done in transactions that begin with the delivery's advisory lock, which keeps a dead worker's attempt and ours apart: only its holder writes, and who gets it
 * later sees the receipt that the earlier one committed.
 */
export async function openPostgresSink(config: PostgresConfig, delivery: Delivery, deps: DestinationDeps): Promise<Sink> {
  const connection = await withPostgresErrors(() => connect(accessOf(config), deps));
  const session: Session = { connection, config, delivery };
  const stage = stageOf(connection, config, delivery, randomUUID());
  return openStagedSink(
    {
      name: targetOf(config).name,
      begin: () => begin(session),
      end: async (statement) => void (await connection.run(statement)),
      prepare: () => prepareTables(connection, config, delivery),
      takeOver: (outcomes) => takeStageOver(stage, outcomes),
      makeStage: () => makeStage(stage, config),
      stage: async (slice, bytes) => {
        await stageSlice(stage, slice, bytes);
        return null;
      },
      insert: async (slice, bytes) => requireRecords(slice, await copySlice(session, bytes)),
      move: () => moveStage(stage),
      writeReceipt: (records, manifest) => writeReceipt(session, records, manifest),
      dropStage: () => dropStage(stage),
      close: () => connection.close(),
    },
    withPostgresErrors,
  );
}

async function begin(session: Session): Promise<boolean> {
  const { connection, delivery } = session;
  await connection.rows(
    `BEGIN; SET LOCAL lock_timeout = '${lock_timeout_seconds}s'; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0`,
  );
  await connection.rows('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`sluice ${delivery.delivery_id}`]);
  return hasReceipt(session);
}

async function hasReceipt({ connection, config, delivery }: Session): Promise<boolean> {
  const { receipts } = targetOf(config);
  if (!(await tableExists(connection, receipts))) return false;
  const found = await connection.rows(`SELECT 1 FROM ${receipts} WHERE delivery_id = $1`, [delivery.delivery_id]);
  return found.length > 0;
}

async function copySlice({ connection, config, delivery }: Session, bytes: Readable): Promise<number> {
  const target = targetOf(config);
  const list = columnList(delivery);
  const copy = (table: string) => connection.copy(`COPY ${table} (${list}) FROM STDIN WITH (FORMAT text, ENCODING 'UTF8')`, bytes);
  if (!isMerged(delivery)) return copy(target.quoted);
  await connection.rows(`CREATE TEMPORARY TABLE IF NOT EXISTS sluice_stage ON COMMIT DROP AS SELECT ${list} FROM ${target.quoted} WITH NO DATA`);
  const copied = await copy('pg_temp.sluice_stage');
  await connection.rows(mergeStatement(target.quoted, 'pg_temp.sluice_stage', delivery.columns));
  await connection.rows('TRUNCATE pg_temp.sluice_stage');
  return copied;
}

async function writeReceipt({ connection, config, delivery }: Session, records: number, manifest: Manifest): Promise<void> {
  const { receipts, name } = targetOf(config);
  await connection.rows(
    `INSERT INTO ${receipts} (delivery_id, batch_export_id, run_id, table_name, records, manifest) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (delivery_id) DO UPDATE SET run_id = EXCLUDED.run_id, records = EXCLUDED.records, manifest = EXCLUDED.manifest`,
    [delivery.delivery_id, delivery.batch_export_id, delivery.run_id, name, records, manifest.text],
  );
}
