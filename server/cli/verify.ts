import sql from 'sql-template-tag';
import type { Delivery, DeliveredSlices, Difference, SourceKeys } from '../engine/destination.ts';
import { loadConfig } from '../engine/destination_config.ts';
import { findDestination } from '../engine/destinations/index.ts';
import { destinationDeps } from '../engine/engine.ts';
import type { Engine } from '../engine/engine.ts';
import { readReceipt } from '../engine/receipt.ts';
import type { Receipt } from '../engine/receipt.ts';
import { columnsOf, openReading } from '../engine/reading.ts';
import { listSlices } from '../engine/runs.ts';
import { streamKeys } from '../engine/source.ts';
import type { CommandContext } from './commands.ts';
import { openProcess } from './process.ts';
import { joinStores } from './stores.ts';
import { UserError } from './user_error.ts';

type ExportRow = {
  id: string;
  name: string;
  team_id: number;
  model: 'events' | 'persons';
  custom_query: string | null;
  revision: number;
  destination_type: string;
  destination_config: Record<string, unknown> | null;
  destination_secrets: Buffer | null;
};
type RunRow = { id: string; delivery_id: string; data_interval_start: string; data_interval_end: string; receipt: string };

/** What was found at one export's destination. */
type Finding = {
  batch_export_id: string;
  name: string;
  destination: string;
  deliveries: number;
  records: number;
  is_readable: boolean;
  differences: Difference[];
};

/**
 * Reads the destinations again and compares them with the receipts of all completed runs; of those that cannot be read again only the receipts are checked. Exit code 0 when everything is as delivered, 1 when something differs; each
 * difference is named. Deliveries of earlier revisions (another destination or layout) are not looked at.
 */
export async function verify({ config, log, say }: CommandContext, options: { export?: string; json?: boolean }): Promise<number> {
  const stores = await joinStores(config, log, { start: 'existing' });
  try {
    const opened = await openProcess(config, stores, log, 'command');
    try {
      const findings = await verifyExports(opened.engine, options.export);
      if (options.json === true) say(JSON.stringify({ exports: findings }));
      else if (findings.length === 0) say('There are no exports, so there is nothing to verify.');
      else for (const finding of findings) tell(finding, say);
      return findings.some((finding) => finding.differences.length > 0) ? 1 : 0;
    } finally {
      await opened.close();
    }
  } finally {
    await stores.close();
  }
}

function tell(finding: Finding, say: (line: string) => void): void {
  const summary = `${finding.name} (${finding.batch_export_id}, ${finding.destination}): ${finding.deliveries} deliveries, ${finding.records} rows`;
  const isWhole = finding.differences.length === 0;
  say(`${isWhole ? (finding.is_readable ? 'ok      ' : 'signed  ') : 'DIFFERS '} ${summary}`);
  if (isWhole && !finding.is_readable) say('  the receipts are right; what the endpoint has made of the rows cannot be read again');
  for (const difference of finding.differences) say(`  ${difference.kind.padEnd(10)} ${difference.name}: ${difference.detail}`);
}

async function verifyExports(engine: Engine, exportId: string | undefined): Promise<Finding[]> {
  if (exportId !== undefined && !/^[0-9a-f-]{36}$/i.test(exportId)) throw new UserError(`"${exportId}" is not the id of an export.`);
  const rows = await engine.db.rows<ExportRow>(sql`
    SELECT id, name, team_id, model, custom_query, revision, destination_type, destination_config, destination_secrets FROM batch_exports
    WHERE deleted_at IS NULL AND (${exportId ?? null}::uuid IS NULL OR id = ${exportId ?? null}) ORDER BY created_at`);
  if (rows.length === 0 && exportId !== undefined) throw new UserError(`There is no export ${exportId}.`);
  const findings: Finding[] = [];
  for (const row of rows) findings.push(await verifyExport(engine, row));
  return findings;
}

async function verifyExport(engine: Engine, row: ExportRow): Promise<Finding> {
  const definition = findDestination(row.destination_type);
  if (definition === undefined) throw new UserError(`This server has no destination of type ${row.destination_type}.`);
  const runs = await engine.db.rows<RunRow>(sql`
    SELECT id, delivery_id, data_interval_start, data_interval_end, receipt FROM batch_export_runs
    WHERE batch_export_id = ${row.id} AND revision = ${row.revision} AND status = 'Completed' AND receipt IS NOT NULL ORDER BY data_interval_start, created_at`);
  const differences: Difference[] = [];
  const delivered: DeliveredSlices[] = [];
  const receipts = new Map<string, Receipt>();
  for (const run of runs) {
    const receipt = readReceipt(run.receipt, engine.secrets.public_key);
    if (receipt === undefined) {
      differences.push({ kind: 'changed', name: `receipt of run ${run.id}`, detail: 'the stored receipt was not signed by this server or was changed since.' });
      continue;
    }
    receipts.set(run.delivery_id, receipt);
    const outcomes = (await listSlices(engine, run.id)).flatMap((slice) => (slice.outcome === null ? [] : [slice.outcome]));
    if (outcomes.length > 0) delivered.push({ delivery: deliveryOf(row, run, definition.column_set), outcomes, manifest: run.receipt });
  }
  const source: SourceKeys = (deliveryId) => keysOf(engine, row, receipts.get(deliveryId));
  const config = loadConfig(engine.secrets, row.id, row);
  // What was handed to an endpoint cannot be read again; its receipts are checked all the same.
  const isReadable = definition.shows_as_written !== true;
  if (isReadable) differences.push(...(await definition.verify(config, delivered, source, destinationDeps(engine, AbortSignal.timeout(3_600_000)))));
  const records = [...receipts.values()].reduce((sum, receipt) => sum + receipt.records, 0);
  return {
    batch_export_id: row.id,
    name: row.name,
    destination: row.destination_type,
    deliveries: delivered.length,
    records,
    is_readable: isReadable,
    differences,
  };
}

async function* keysOf(engine: Engine, row: ExportRow, receipt: Receipt | undefined): AsyncGenerator<string> {
  if (receipt === undefined) return;
  const { selection, data_interval_end } = receipt;
  yield* streamKeys(engine, await openReading(engine, { ...row, selection, data_interval_end }));
}

function deliveryOf(row: ExportRow, run: RunRow, columnSet: 'files' | 'tables'): Delivery {
  return {
    delivery_id: run.delivery_id,
    run_id: run.id,
    attempt: 0,
    batch_export_id: row.id,
    team_id: row.team_id,
    model: row.model,
    data_interval_start: run.data_interval_start,
    data_interval_end: run.data_interval_end,
    columns: columnsOf(row, columnSet),
  };
}
