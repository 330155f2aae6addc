import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { openProxiedPostgres } from '../../../test/factories/batch_exports/proxied_postgres.ts';
import { openQueryHarness } from '../../../test/factories/batch_exports/query_exports.ts';
import { statuses } from '../../../test/factories/batch_exports/query_deliveries.ts';
import { listUncertain } from '../../engine/model/ledger/uncertain.ts';
import { startBackfill } from '../../engine/exports/planning/backfill.ts';
import { lookAtExports } from '../doctor/export_findings.ts';
import { forgetMissing } from './held_deliveries.ts';
import { verifyExports } from '../../engine/exports/verification/verify_exports.ts';
import { tellFinding } from './verify.ts';

const exporting = aroundTests(openQueryHarness);
const postgres = aroundTests(openProxiedPostgres);

/** An hourly export of two hours with two events each, and how its first runs ended. */
async function newExport(table: string) {
  const home = await exporting.harness.newOrganization();
  const at = ['00:10', '00:20', '01:10', '01:20'].map((time) => `2026-01-01T${time}:00Z`);
  await exporting.insert(
    home,
    at.map((instant, n) => ({ event: `e${n}`, at: instant })),
  );
  const destination = { type: 'Postgres', config: postgres.config(table) };
  const custom_query = 'SELECT event FROM events';
  const { id } = await exporting.scheduled(home, { destination, custom_query }, 2);
  const events = async () =>
    (
      await postgres.pool.query<{ event: string }>(`SELECT event FROM ${table} ORDER BY 1`)
    ).rows.map(({ event }) => event);
  return { id, events };
}

async function backfill(id: string): Promise<void> {
  const range = {
    from: Date.parse('2026-01-01T00:00:00Z'),
    to: Date.parse('2026-01-01T02:00:00Z'),
    by: 'inserted_at' as const,
    mode: 'missing' as const,
  };
  const { db } = exporting.harness.deps;
  const started = await db.transaction((tx) => startBackfill(tx, id, range, 0));
  await exporting.advance(id, started);
}

const engine = () => exporting.harness.deps.engine;

async function linesOf(id: string) {
  const [finding] = await verifyExports(engine(), id);
  const lines: string[] = [];
  tellFinding(finding!, (line) => lines.push(line));
  return { finding: finding!, lines };
}

test('an uncertain delivery is named, and leaves the ledger when it is missing', async () => {
  const { id, events } = await newExport('uncertain');
  const { db } = exporting.harness.deps;
  // As releases before left it: the database had refused the commit.
  await exporting.plan(id);
  await exporting.runAll(id);
  await postgres.pool.query(`DELETE FROM uncertain WHERE event IN ('e0', 'e1')`);
  const [first] = await db.rows<{ id: string; delivery_id: string }>(
    sql`SELECT id, delivery_id FROM batch_export_runs WHERE batch_export_id = ${id}
      ORDER BY data_interval_start`,
  );
  await postgres.pool.query('DELETE FROM sluice_receipts WHERE delivery_id = $1', [
    first!.delivery_id,
  ]);
  await db.run(sql`
    UPDATE batch_export_runs SET status = 'Failed', error_code = 'trigger'
      WHERE id = ${first!.id}`);
  const left = [
    {
      event_from: null,
      event_to: null,
      inserted_from: Date.parse('2026-01-01T01:00:00Z'),
      inserted_to: Date.parse('2026-01-01T02:00:00Z'),
    },
  ];
  await db.run(sql`
    UPDATE batch_export_ledgers SET delivered = ${JSON.stringify(left)}
      WHERE batch_export_id = ${id}`);
  await backfill(id);
  assert.deepEqual(await events(), ['e2', 'e3'], 'its rows are held back');
  const { finding, lines } = await linesOf(id);
  assert.deepEqual(
    finding.held.map(({ uncertain, is_there, records }) => [uncertain, is_there, records]),
    [[true, false, 2]],
  );
  assert.match(
    lines.join('\n'),
    /^UNKNOWN .*\n.*uncertain {2}delivery .*its receipt is not there/s,
  );
  const [warned] = await lookAtExports(db, 0);
  assert.match(warned!.detail, new RegExp(`^${id} has 1 uncertain delivery: `));
  const told = await forgetMissing(engine(), [finding], async () => false);
  assert.deepEqual(told, ['Nothing was changed.']);
  assert.equal((await listUncertain(db, id)).length, 1);
  await forgetMissing(engine(), [finding], async () => true);
  assert.deepEqual(await listUncertain(db, id), []);
  await backfill(id);
  assert.deepEqual(await events(), ['e0', 'e1', 'e2', 'e3']);
  assert.deepEqual((await linesOf(id)).finding.held, []);
});

test('a completed delivery that is gone leaves the ledger, if others are there', async () => {
  const { id, events } = await newExport('lost');
  assert.deepEqual(statuses(await exporting.runAll(id)), ['Completed 2', 'Completed 2']);
  assert.deepEqual((await linesOf(id)).finding.held, []);
  const receipts = await postgres.pool.query<{ delivery_id: string }>(
    "SELECT delivery_id FROM sluice_receipts WHERE table_name LIKE '%lost%' ORDER BY 1",
  );
  await postgres.pool.query(`DELETE FROM lost WHERE event IN ('e0', 'e1')`);
  const one = receipts.rows[0]!.delivery_id;
  await postgres.pool.query('DELETE FROM sluice_receipts WHERE delivery_id = $1', [one]);
  const { finding, lines } = await linesOf(id);
  assert.deepEqual(
    finding.held.map(({ uncertain, delivery_id }) => [uncertain, delivery_id]),
    [[false, one]],
  );
  assert.match(lines.join('\n'), /^DIFFERS .*missing {4}delivery .*--forget-missing/s);
  await backfill(id);
  assert.equal((await events()).length, 2, 'the ledger counts it');
  await forgetMissing(engine(), [finding], async () => true);
  await backfill(id);
  assert.deepEqual(await events(), ['e0', 'e1', 'e2', 'e3']);
  // Without any receipt nothing tells what is there.
  await postgres.pool.query("DELETE FROM sluice_receipts WHERE table_name LIKE '%lost%'");
  assert.deepEqual((await linesOf(id)).finding.held, []);
});
