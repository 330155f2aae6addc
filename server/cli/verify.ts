import sql from 'sql-template-tag';
import { NonRetryableError, RetryableError } from '../engine/destination/destination.ts';
import type {
  Delivery,
  DeliveredSlices,
  DestinationDefinition,
  Difference,
  SourceKeys,
} from '../engine/destination/destination.ts';
import { findDestination } from '../engine/destinations/index.ts';
import { destinationDeps } from '../engine/engine.ts';
import type { Engine } from '../engine/engine.ts';
import { openConfig } from '../engine/runs/run_input.ts';
import { readReceipt } from '../engine/runs/receipt.ts';
import type { Receipt } from '../engine/runs/receipt.ts';
import { columnsOf, openReading } from '../engine/source/source_query.ts';
import { listSlices } from '../engine/runs/runs.ts';
import { streamKeys } from '../engine/source/source.ts';
import type { CommandContext } from './command_context.ts';
import { UserError } from './user_error.ts';
import { withProcess } from './with_process.ts';

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
type RunRow = {
  id: string;
  delivery_id: string;
  data_interval_start: string;
  data_interval_end: string;
  receipt: string;
};

/** What was found at one export's destination. `fault` says why it could not be compared; null when it was. */
export type Finding = {
  batch_export_id: string;
  name: string;
  destination: string;
  deliveries: number;
  records: number;
  is_readable: boolean;
  fault: string | null;
  differences: Difference[];
};

/**
 * Reads the destinations again and compares them with the receipts of all completed runs; of those that cannot be read again only the receipts are checked. Exit code 0 when everything is as delivered, 1 when something differs or could
 * not be compared; each difference is named, and what is wrong with one export keeps no other from being compared. Deliveries of earlier revisions (another destination or layout) are not looked at.
 */
export async function verify(
  context: CommandContext,
  options: { export?: string; json?: boolean },
): Promise<number> {
  const { say } = context;
  const findings = await withProcess(context, ({ deps }) =>
    verifyExports(deps.engine, options.export),
  );
  if (options.json === true) say(JSON.stringify({ exports: findings }));
  else if (findings.length === 0) say('There are no exports, so there is nothing to verify.');
  else for (const finding of findings) tell(finding, say);
  return findings.some(({ differences, fault }) => differences.length > 0 || fault !== null)
    ? 1
    : 0;
}

function tell(finding: Finding, say: (line: string) => void): void {
  const summary = `${finding.name} (${finding.batch_export_id}, ${finding.destination}): ${finding.deliveries} deliveries, ${finding.records} rows`;
  const isWhole = finding.differences.length === 0 && finding.fault === null;
  say(
    `${isWhole ? (finding.is_readable ? 'ok      ' : 'signed  ') : finding.fault === null ? 'DIFFERS ' : 'UNKNOWN '} ${summary}`,
  );
  if (finding.fault !== null) say(`  ${finding.fault}`);
  if (isWhole && !finding.is_readable)
    say('  the receipts are right; what the endpoint has made of the rows cannot be read again');
  for (const difference of finding.differences)
    say(`  ${difference.kind.padEnd(10)} ${difference.name}: ${difference.detail}`);
}

/** A finding for each export that is not deleted, or for the one that is named, oldest first. Throws a `UserError` when there is no such export. */
export async function verifyExports(
  engine: Engine,
  exportId: string | undefined,
): Promise<Finding[]> {
  if (exportId !== undefined && !/^[0-9a-f-]{36}$/i.test(exportId))
    throw new UserError(`"${exportId}" is not the id of an export.`);
  const rows = await engine.db.rows<ExportRow>(sql`
    SELECT id, name, team_id, model, custom_query, revision, destination_type, destination_config, destination_secrets FROM batch_exports
    WHERE deleted_at IS NULL AND (${exportId ?? null}::uuid IS NULL OR id = ${exportId ?? null}) ORDER BY created_at`);
  if (rows.length === 0 && exportId !== undefined)
    throw new UserError(`There is no export ${exportId}.`);
  const findings: Finding[] = [];
  for (const row of rows) findings.push(await verifyExport(engine, row));
  return findings;
}

async function verifyExport(engine: Engine, row: ExportRow): Promise<Finding> {
  const finding: Finding = {
    batch_export_id: row.id,
    name: row.name,
    destination: row.destination_type,
    deliveries: 0,
    records: 0,
    is_readable: true,
    fault: null,
    differences: [],
  };
  try {
    const definition = findDestination(row.destination_type);
    if (definition === undefined)
      throw new NonRetryableError(
        'unknown_destination',
        `This server has no destination of type ${row.destination_type}: run a version that has it.`,
      );
    await compare(engine, row, definition, finding);
  } catch (error) {
    finding.fault = faultOf(engine, row, error);
  }
  return finding;
}

/** Fills the finding. What the receipts say stands in it also when the destination cannot be read. */
async function compare(
  engine: Engine,
  row: ExportRow,
  definition: DestinationDefinition,
  finding: Finding,
): Promise<void> {
  // What was handed to an endpoint cannot be read again; its receipts are checked all the same.
  finding.is_readable = definition.shows_as_written !== true;
  const runs = await engine.db.rows<RunRow>(sql`
    SELECT id, delivery_id, data_interval_start, data_interval_end, receipt FROM batch_export_runs
    WHERE batch_export_id = ${row.id} AND revision = ${row.revision} AND status = 'Completed' AND receipt IS NOT NULL ORDER BY data_interval_start, created_at`);
  const delivered: DeliveredSlices[] = [];
  const receipts = new Map<string, Receipt>();
  for (const run of runs) {
    const receipt = readReceipt(run.receipt, engine.secrets.public_key);
    if (receipt === undefined) {
      const detail = 'the stored receipt was not signed by this server or was changed since.';
      finding.differences.push({ kind: 'changed', name: `receipt of run ${run.id}`, detail });
      continue;
    }
    receipts.set(run.delivery_id, receipt);
    finding.records += receipt.records;
    const outcomes = (await listSlices(engine, run.id)).flatMap((slice) =>
      slice.outcome === null ? [] : [slice.outcome],
    );
    if (outcomes.length > 0)
      delivered.push({
        delivery: deliveryOf(row, run, definition.column_set),
        outcomes,
        manifest: run.receipt,
      });
  }
  finding.deliveries = delivered.length;
  // Without a delivery nothing was made at the destination that could be missing there.
  if (!finding.is_readable || delivered.length === 0) return;
  const source: SourceKeys = (deliveryId) => keysOf(engine, row, receipts.get(deliveryId));
  const config = openConfig(engine, row.id, row);
  finding.differences.push(
    ...(await definition.verify(
      config,
      delivered,
      source,
      destinationDeps(engine, AbortSignal.timeout(3_600_000)),
    )),
  );
}

/** Why an export could not be compared, in a sentence without secrets. */
function faultOf(engine: Engine, row: ExportRow, error: unknown): string {
  engine.log.info({ err: error, batch_export_id: row.id }, 'an export could not be verified');
  const isKnown = error instanceof NonRetryableError || error instanceof RetryableError;
  const reason = isKnown
    ? `${error.message} (${error.code})`
    : 'A fault without a name of its own; the log has it under the id of the export.';
  return `It could not be compared with its receipts: ${reason} Mend this, then verify it again with --export ${row.id}.`;
}

async function* keysOf(
  engine: Engine,
  row: ExportRow,
  receipt: Receipt | undefined,
): AsyncGenerator<string> {
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
