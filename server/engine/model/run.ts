import type { SliceOutcome } from './destination/destination.ts';
import type { SlicePartition } from './destination/partition.ts';
import type { WriteRule } from './destination/write_mode.ts';
import type { StoredRectangle } from './ledger/rectangles.ts';
import type { RejectedRowsPolicy } from './destination/rejected_rows.ts';
import type { TypedColumn } from './schema/typed_relation.ts';
import type { ModelName } from './models/model.ts';

/** Failed attempts after which Sluice gives up a run as FailedRetryable. */
export const attempts_max = 15;

/** The steps of a worker on a run, in order. Reading and sending alternate. */
export type WorkStep = 'counted' | 'read' | 'sent' | 'committed';

/**
 * Duration of the steps of one attempt, in milliseconds; null if the attempt did not reach the
 * step.
 *
 * `waited`: from the planning of the run, or the last heartbeat of the previous attempt, until a
 * worker claimed it. `counted`: until the rows to write are known. `read`: time spent waiting for
 * the source. `sent`: all other writing, from opening the destination to the last finished slice.
 * `committed`: the time the destination needed to show the rows. The steps follow one another and
 * do not overlap.
 */
export type AttemptSteps = Record<`${WorkStep}_ms`, number | null> & {
  attempt: number;
  began_at: string;
  waited_ms: number;
};

/** Number of a run's latest attempts that Sluice keeps. */
export const remembered_attempts_max = 20;

/**
 * A run that one worker has claimed. `attempt` is its lease: a statement that finds another number
 * in the row changes nothing.
 */
export type ClaimedRun = {
  id: string;
  batch_export_id: string;
  delivery_id: string;
  revision: number;
  attempt: number;
  failures: number;
  /** Number of worker crashes during this run since its last progress. */
  break_offs: number;
  /** True if an earlier count found that it selects few rows. */
  is_small: boolean;
  data_interval_start: string;
  data_interval_end: string;
  timezone: string;
  selection: StoredRectangle[];
  records_total_count: number | null;
  cancel_requested_at: string | null;
  committing_at: string | null;
  receipt: string | null;
  backfill_id: string | null;
  team_id: number;
  model: ModelName;
  custom_query: string | null;
  write_rule: WriteRule | null;
  /** The number of the project's schema that defines its columns; null: properties are JSON. */
  schema_number: number | null;
  typed_columns: TypedColumn[] | null;
  /** The columns that earlier deliveries of the revision filled; null if unknown. */
  known_columns: string[] | null;
  destination_type: string;
  destination_config: Record<string, unknown> | null;
  destination_secrets: Buffer | null;
  export_revision: number;
  is_deleted: boolean;
  /**
   * The receipt that this run's receipt replaces. The run rewrites an existing delivery without its
   * erased rows.
   */
  replaces: ReplacedReceipt | null;
  /** The export's current policy for refused rows; null if it has none. */
  rejection: RejectedRowsPolicy | null;
  /** The attempts of the run, this one last; empty if no worker has claimed it. */
  steps: AttemptSteps[];
};

/**
 * Thrown when another worker has claimed the run, or its row is gone. The worker stops and records
 * nothing.
 */
export class LostRunError extends Error {
  constructor() {
    super('This worker no longer holds the run.');
    this.name = 'LostRunError';
  }
}

/**
 * A receipt that another one replaces, with its SHA-256 and the reason: an erasure, a new try of
 * its rejected rows, or a repair of all rows.
 */
export type ReplacedReceipt = { run_id: string; receipt_sha256: string } & (
  | { erasure_id: string }
  | { redelivers: true; repairs?: true; source_records: number }
);

/**
 * Upper bounds for the ages of the oldest and the newest delivered row: from their insertion to the
 * end of the run. Null if the run has no rows, or if the ages are unknown.
 */
export type RowAges = { oldest_row_seconds: number | null; newest_row_seconds: number | null };

/** The end of a run. */
export type RunEnd =
  | { status: 'Completed' }
  | { status: 'Failed' | 'FailedRetryable' | 'Cancelled'; code: string; message: string };

/**
 * A slice as it is stored. It has its bounds by insertion time (null: all rows of the run), its key
 * bounds where it splits the rows of one insertion, and its count at the source. It has its outcome
 * once it is safe.
 */
export type StoredSlice = {
  number: number;
  inserted_from: string | null;
  inserted_to: string | null;
  key_from?: string | null;
  key_to?: string | null;
  partition?: SlicePartition | null;
  records: number;
  outcome: SliceOutcome | null;
};
