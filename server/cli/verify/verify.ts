import sql from 'sql-template-tag';
import { KnownError, NonRetryableError } from '../../engine/model/destination/errors.ts';
import type {
  DeliveredSlices,
  DestinationDefinition,
  Difference,
} from '../../engine/model/destination/destination.ts';
import { findDestination } from '../../engine/destinations/index.ts';
import { row_tables } from '../../engine/model/removals/delete_rows.ts';
import { destinationDeps } from '../../engine/exports/engine.ts';
import type { Engine } from '../../engine/exports/engine.ts';
import { fromStored } from '../../engine/model/ledger/rectangles.ts';
import { earliestOf, findRemoved, removedSentence } from '../../engine/model/ledger/removed.ts';
import type { Removed } from '../../engine/model/ledger/removed.ts';
import { listUncertain } from '../../engine/model/ledger/uncertain.ts';
import {
  deliveryOf,
  findHeldDeliveries,
} from '../../engine/exports/reconcile/missing_deliveries.ts';
import type { LookedAtExport } from '../../engine/exports/reconcile/missing_deliveries.ts';
import { openConfig } from '../../engine/exports/runs/run_input.ts';
import { readReceipt } from '../../engine/exports/runs/receipt.ts';
import { columnsOf } from '../../engine/exports/source/source_query.ts';
import { listSlices } from '../../engine/exports/runs/progress.ts';
import { caughtUp } from '../../platform/clickhouse/topology/caught_up.ts';
import { counted } from '../../platform/counted.ts';
import { openStallTimer } from '../../platform/pacing/stall_timer.ts';
import { isUuid } from '../../platform/uuid.ts';
import type { CommandContext } from '../command_context.ts';
import { oneLine } from '../shown_text.ts';
import { UserError, WrongUsageError } from '../user_error.ts';
import { forgetMissing, heldLine, isForgettingAgreed } from './held_deliveries.ts';
import type { Holding } from './held_deliveries.ts';
import { openContentSource } from './verify_source.ts';
import type { KnownDelivery } from './verify_source.ts';
import { withProcess } from '../process/with_process.ts';

const stall_milliseconds = 3_600_000;
const progress_milliseconds = 10_000;

type ExportRow = LookedAtExport;
type RunRow = {
  id: string;
  delivery_id: string;
  data_interval_start: string;
  data_interval_end: string;
  receipt: string;
};

/**
 * The result for one export's destination. `fault` says why it could not be compared; null if it
 * was.
 */
export type Finding = {
  batch_export_id: string;
  name: string;
  destination: string;
  deliveries: number;
  records: number;
  is_readable: boolean;
  fault: string | null;
  differences: Difference[];
  /** Comparisons that were not row by row, in sentences. */
  notes: string[];
} & Pick<Holding, 'held'>;

/** The options of `sluice verify`. */
type VerifyFlags = { export?: string; json?: boolean; forgetMissing?: boolean; yes?: boolean };

/**
 * Reads the destinations again and compares them with the receipts of all completed runs; of those
 * that cannot be read again only the receipts are checked. Exit code 0 when everything is as
 * delivered, 1 when something differs, is uncertain or could not be compared; each is named, and
 * what is wrong with one export keeps no other from being compared. Deliveries of earlier revisions
 * (another destination or layout) are not looked at.
 */
export async function verify(context: CommandContext, options: VerifyFlags): Promise<number> {
  const { say } = context;
  const findings = await withProcess(context, async ({ deps }) => {
    const found = await caughtUp(deps.clickhouse, row_tables, () =>
      verifyExports(deps.engine, options.export, (line) =>
        process.stderr.write(`${oneLine(line)}\n`),
      ),
    );
    if (options.json === true) say(JSON.stringify({ exports: found }));
    else if (found.length === 0) say('There are no exports, so there is nothing to verify.');
    else for (const finding of found) tellFinding(finding, say);
    if (options.forgetMissing === true) {
      const agreed = options.yes === true ? async () => true : isForgettingAgreed;
      for (const line of await forgetMissing(deps.engine, found, agreed))
        process.stderr.write(`${oneLine(line)}\n`);
    }
    return found;
  });
  return findings.every(isAsDelivered) ? 0 : 1;
}

function isAsDelivered({ differences, fault, held }: Finding): boolean {
  return differences.length === 0 && fault === null && held.length === 0;
}

/** Says in lines what was found of one export. Its name and its rows stay within their line. */
export function tellFinding(finding: Finding, write: (line: string) => void): void {
  const say = (line: string) => write(oneLine(line));
  const summary =
    `${finding.name} (${finding.batch_export_id}, ${finding.destination}): ` +
    `${counted(finding.deliveries, 'delivery')}, ${counted(finding.records, 'row')}`;
  const isWhole = isAsDelivered(finding);
  const good = finding.is_readable ? 'ok' : 'signed';
  const differs = finding.differences.length > 0 || finding.held.some((one) => !one.uncertain);
  const bad = differs && finding.fault === null ? 'DIFFERS' : 'UNKNOWN';
  say(`${(isWhole ? good : bad).padEnd(8)} ${summary}`);
  if (finding.fault !== null) say(`  ${finding.fault}`);
  if (isWhole && !finding.is_readable)
    say('  the receipts are right; what the endpoint has made of the rows cannot be read again');
  for (const one of finding.held) say(`  ${heldLine(one)}`);
  for (const note of finding.notes) say(`  note       ${note}`);
  for (const difference of finding.differences)
    say(`  ${difference.kind.padEnd(10)} ${difference.name}: ${difference.detail}`);
}

/**
 * A finding for each export that is not deleted, or for the one that is named, oldest first. Throws
 * a `UserError` when there is no such export.
 */
export async function verifyExports(
  engine: Engine,
  exportId: string | undefined,
  onProgress: (line: string) => void = () => undefined,
): Promise<Finding[]> {
  if (exportId !== undefined && !isUuid(exportId))
    throw new WrongUsageError(`"${exportId}" is not the id of an export.`);
  const rows = await engine.db.rows<ExportRow>(sql`
    SELECT id, name, team_id, model, custom_query, write_rule, revision, destination_type,
      destination_config, destination_secrets, timezone FROM batch_exports
    WHERE deleted_at IS NULL AND (${exportId ?? null}::uuid IS NULL OR id = ${exportId ?? null})
      ORDER BY created_at`);
  if (rows.length === 0 && exportId !== undefined)
    throw new UserError(`There is no export ${exportId}.`);
  const findings: Finding[] = [];
  for (const row of rows) findings.push(await verifyExport(engine, row, onProgress));
  return findings;
}

async function verifyExport(
  engine: Engine,
  row: ExportRow,
  onProgress: (line: string) => void,
): Promise<Finding> {
  const finding: Finding = {
    batch_export_id: row.id,
    name: row.name,
    destination: row.destination_type,
    deliveries: 0,
    records: 0,
    is_readable: true,
    fault: null,
    differences: [],
    notes: [],
    held: (await listUncertain(engine.db, row.id)).map((one) => ({
      ...one,
      uncertain: true,
      is_there: null,
    })),
  };
  try {
    const definition = findDestination(row.destination_type);
    if (definition === undefined)
      throw new NonRetryableError(
        'unknown_destination',
        `This server has no destination of type ${row.destination_type}: run a version that ` +
          'has it.',
      );
    await compare({ engine, row, definition, onProgress }, finding);
    finding.held = await findHeldDeliveries(engine, row, definition);
  } catch (error) {
    finding.fault = faultOf(engine, row, error);
  }
  return finding;
}

type Comparing = {
  engine: Engine;
  row: ExportRow;
  definition: DestinationDefinition;
  onProgress: (line: string) => void;
};

/** Fills the finding. It has the receipts' numbers even if the destination cannot be read. */
async function compare(comparing: Comparing, finding: Finding): Promise<void> {
  const { engine, row, definition, onProgress } = comparing;
  // Rows handed to an endpoint cannot be read again; their receipts are checked all the same.
  finding.is_readable = definition.shows_as_written !== true;
  const runs = await engine.db.rows<RunRow>(sql`
    SELECT * FROM (
      -- of a delivery that was written once more the receipt that stands there now
      SELECT DISTINCT ON (delivery_id) id, delivery_id, data_interval_start, data_interval_end,
        receipt, created_at FROM batch_export_runs
      WHERE batch_export_id = ${row.id} AND revision = ${row.revision} AND status = 'Completed'
        AND receipt IS NOT NULL ORDER BY delivery_id, finished_at DESC, created_at DESC) AS newest
    ORDER BY data_interval_start, created_at`);
  const delivered: DeliveredSlices[] = [];
  const known = new Map<string, KnownDelivery>();
  for (const run of runs) {
    const receipt = readReceipt(run.receipt, engine.secrets.public_key);
    if (receipt === undefined) {
      const detail = 'the stored receipt was not signed by this server or was changed since.';
      finding.differences.push({ kind: 'changed', name: `receipt of run ${run.id}`, detail });
      continue;
    }
    const slices = await listSlices(engine, run.id);
    known.set(run.delivery_id, { receipt, slices });
    finding.records += receipt.records;
    const outcomes = slices.flatMap((slice) => (slice.outcome === null ? [] : [slice.outcome]));
    if (outcomes.length > 0)
      delivered.push({
        delivery: deliveryOf(row, { ...run, run_id: run.id }, definition),
        outcomes,
        manifest: run.receipt,
      });
  }
  finding.deliveries = delivered.length;
  // Without a delivery nothing was created at the destination that could be missing there.
  if (!finding.is_readable || delivered.length === 0) return;
  const removed = await findRemoved(engine.db, row.team_id);
  if (removed !== undefined) finding.notes.push(...removedNotes(removed, known));
  const timer = openStallTimer(stall_milliseconds, 'Nothing moved for an hour.');
  const source = openContentSource(engine, row, known, {
    columns: columnsOf(row, definition.column_set),
    removed,
    signal: timer.signal,
    note: (sentence) => void finding.notes.push(sentence),
    onRow: rowCounter(2 * finding.records, (rows) => {
      timer.refresh();
      onProgress(`${row.name} (${row.id}): ${rows}`);
    }),
  });
  const deps = destinationDeps(engine, timer.signal, () => timer.refresh());
  try {
    finding.differences.push(
      ...(await definition.verify(openConfig(engine, row.id, row), delivered, source, deps)),
    );
  } finally {
    timer.end();
  }
}

/** Lists the deliveries whose source rows are gone, and how they are judged. */
function removedNotes(removed: Removed, known: Map<string, KnownDelivery>): string[] {
  const reaching = [...known.values()].filter(
    ({ receipt }) => earliestOf(fromStored(receipt.selection)) < Date.parse(removed.before),
  ).length;
  if (reaching === 0) return [];
  return [
    `${removedSentence(removed)}. Of the deliveries ${reaching} reach back so far: what of them ` +
      'is gone at the source is judged by the digests and counts of their receipts.',
  ];
}

/** Counts rows, and tells how many they are every ten seconds. */
function rowCounter(total: number, tell: (rows: string) => void): () => void {
  let rows = 0;
  let told_at = performance.now();
  return () => {
    rows += 1;
    if (rows % 1_000 !== 0 || performance.now() - told_at < progress_milliseconds) return;
    told_at = performance.now();
    tell(`${rows} of about ${counted(total, 'row')} read on both sides.`);
  };
}

/** Why an export could not be compared, in a sentence without secrets. */
function faultOf(engine: Engine, row: ExportRow, error: unknown): string {
  engine.log.info({ err: error, batch_export_id: row.id }, 'an export could not be verified');
  const isKnown = error instanceof KnownError;
  const reason = isKnown
    ? `${error.message} (${error.code})`
    : 'An unknown error. The log has it under the id of the export.';
  return (
    `It could not be compared with its receipts: ${reason} Mend this, then verify it again with ` +
    `--export ${row.id}.`
  );
}
