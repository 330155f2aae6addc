import sql from 'sql-template-tag';
import { counted } from '../../../platform/counted.ts';
import { findDestination } from '../../destinations/index.ts';
import { KnownError, NonRetryableError } from '../../model/destination/errors.ts';
import type { DestinationDefinition } from '../../model/destination/destination.ts';
import type { Difference } from '../../model/destination/difference.ts';
import { delivered_columns } from '../../model/schema/run_columns.ts';
import { listUncertain } from '../../model/ledger/uncertain.ts';
import type { Engine } from '../engine.ts';
import { compareDeliveries, newComparison, rowsSentence } from './compare.ts';
import type { Comparing, Comparison } from './compare.ts';
import { countDeliveries, listDeliveries } from './deliveries.ts';
import type { Position } from './deliveries.ts';
import { findForeign } from './foreign.ts';
import { findHeldDeliveries } from './missing_deliveries.ts';
import { verifyPartsOf } from './verify_parts.ts';
import type { HeldDelivery, LookedAtExport } from './missing_deliveries.ts';

const progress_milliseconds = 10_000;
/** Number of deliveries that are compared at a time if a destination can be read in parts. */
export const part_deliveries_max = 200;

/**
 * The result for one export's destination. `fault` says why it could not be compared; null if it
 * could.
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
  /** Sentences about comparisons that were not row by row. */
  notes: string[];
  held: HeldDelivery[];
};

/** Finds the destination of a stored type; throws `unknown_destination` if there is none. */
export function getDestination(type: string): DestinationDefinition {
  const definition = findDestination(type);
  if (definition !== undefined) return definition;
  throw new NonRetryableError(
    'unknown_destination',
    `This server has no destination of type ${type}: run a version that has it.`,
  );
}

/** Returns a finding for each export that is not deleted, or for the named one, oldest first. */
export async function verifyExports(
  engine: Engine,
  exportId: string | undefined,
  onProgress: (line: string) => void = () => undefined,
): Promise<Finding[]> {
  const rows = await engine.db.rows<LookedAtExport>(sql`
    SELECT id, name, team_id, model, custom_query, write_rule, revision, destination_type,
      destination_config, destination_secrets, timezone, ${delivered_columns}
    FROM batch_exports export
    WHERE deleted_at IS NULL AND (${exportId ?? null}::uuid IS NULL OR id = ${exportId ?? null})
      ORDER BY created_at`);
  const findings: Finding[] = [];
  for (const row of rows) findings.push(await verifyExport(engine, row, onProgress));
  return findings;
}

async function verifyExport(
  engine: Engine,
  row: LookedAtExport,
  onProgress: (line: string) => void,
): Promise<Finding> {
  const comparison = newComparison();
  const finding: Pick<Finding, 'is_readable' | 'fault' | 'held'> = {
    is_readable: true,
    fault: null,
    held: (await listUncertain(engine.db, row.id)).map((one) => ({
      ...one,
      uncertain: true,
      is_there: null,
    })),
  };
  try {
    const definition = getDestination(row.destination_type);
    finding.is_readable = definition.not_verifiable === undefined;
    await compareAll(engine, row, definition, comparison, onProgress);
    finding.held = await findHeldDeliveries(engine, row, definition);
  } catch (error) {
    finding.fault = faultOf(engine, row, error);
  }
  const { deliveries, records, differences, notes } = comparison;
  return {
    batch_export_id: row.id,
    name: row.name,
    destination: row.destination_type,
    deliveries,
    records,
    differences,
    notes,
    ...finding,
  };
}

async function compareAll(
  engine: Engine,
  row: LookedAtExport,
  definition: DestinationDefinition,
  comparison: Comparison,
  onProgress: (line: string) => void,
): Promise<void> {
  const range = { id: row.id, revision: row.revision, start_at: null, end_at: null };
  const { deliveries, records } = await countDeliveries(engine.db, range);
  const say = (text: string) => onProgress(`${row.name} (${row.id}): ${text}`);
  const comparing: Comparing = {
    engine,
    row,
    definition,
    signal: new AbortController().signal,
    onRow: rowCounter((rows) => say(rowsSentence(rows, records))),
  };
  const limit =
    verifyPartsOf(definition, row.write_rule) === undefined ? null : part_deliveries_max;
  let after: Position | null = null;
  for (let done = 0; ;) {
    const runs = await listDeliveries(engine.db, range, { after, limit });
    await compareDeliveries(comparing, runs, comparison);
    done += runs.length;
    if (limit === null || runs.length < limit) break;
    after = runs.at(-1)!;
    say(`${done} of ${counted(deliveries, 'delivery')} compared.`);
  }
  comparison.differences.push(...(await findForeign(comparing, range)));
}

/** Counts rows, and reports the number every ten seconds. */
function rowCounter(tell: (rows: number) => void): () => void {
  let rows = 0;
  let told_at = performance.now();
  return () => {
    rows += 1;
    if (rows % 1_000 !== 0 || performance.now() - told_at < progress_milliseconds) return;
    told_at = performance.now();
    tell(rows);
  };
}

/** Returns why an export could not be compared, in a sentence without secrets. */
function faultOf(engine: Engine, row: LookedAtExport, error: unknown): string {
  const reason = loggedReason(engine, row, error, 'an export could not be verified');
  return (
    `It could not be compared with its receipts: ${reason} Fix this, then verify it again ` +
    `with --export ${row.id}.`
  );
}

/**
 * Returns the same as `reasonOf`, for a command. Logs a known fault only at the level `debug`: the
 * command prints its sentence, which stacks would hide.
 */
export function loggedReason(
  { log }: Pick<Engine, 'log'>,
  { id }: { id: string },
  error: unknown,
  message: string,
): string {
  log[error instanceof KnownError ? 'debug' : 'warn']({ err: error, batch_export_id: id }, message);
  return reasonOf(error);
}

/** Returns the reason of a fault, in a sentence without secrets. */
export function reasonOf(error: unknown): string {
  return error instanceof KnownError
    ? `${error.message} (${error.code})`
    : 'An unknown error. The log has it under the id of the export.';
}
