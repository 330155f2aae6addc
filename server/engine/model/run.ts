import type { SliceOutcome } from './destination/destination.ts';
import type { SlicePartition } from './destination/partition.ts';
import type { WriteRule } from './destination/write_mode.ts';
import type { StoredRectangle } from './ledger/rectangles.ts';
import type { RejectedRowsPolicy } from './destination/rejected_rows.ts';
import type { TypedColumn } from './schema/typed_relation.ts';
import type { ModelName } from './models/model.ts';

/** After this many failed attempts a run is given up as FailedRetryable. */
export const attempts_max = 15;

/** The steps of a worker on a run, in order; reading and sending take turns. */
export type WorkStep = 'counted' | 'read' | 'sent' | 'committed';

/**
 * Duration of the steps of one attempt, in milliseconds; null if the attempt did not reach the
 * step.
 *
 * `waited`: from the planning of the run, or the last sign of the attempt before, until a worker
 * took it. `counted`: until the rows to write are known. `read`: waiting for the source. `sent`:
 * all other writing, from the opening of the destination to the last finished slice. `committed`:
 * while the destination was to show the rows. The steps follow one another and never overlap.
 */
export type AttemptSteps = Record<`${WorkStep}_ms`, number | null> & {
  attempt: number;
  began_at: string;
  waited_ms: number;
};

/** Number of the latest attempts of a run that are kept. */
export const remembered_attempts_max = 20;

/**
 * A run in the hands of one worker. `attempt` is its hold: a statement that finds another number
 * there changes nothing.
 */
export type ClaimedRun = {
  id: string;
  batch_export_id: string;
  delivery_id: string;
  revision: number;
  attempt: number;
  failures: number;
  /** Number of worker crashes with the run in hand since its last progress. */
  break_offs: number;
  /** It was looked at before, and selects few rows. */
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
  /** The number of the project's schema that its columns are of; null: properties are JSON. */
  schema_number: number | null;
  typed_columns: TypedColumn[] | null;
  /** The columns that earlier deliveries of the revision filled; null where there are none. */
  known_columns: string[] | null;
  destination_type: string;
  destination_config: Record<string, unknown> | null;
  destination_secrets: Buffer | null;
  export_revision: number;
  is_deleted: boolean;
  /**
   * The receipt in whose place that of this run comes: it writes a delivery that is there once
   * more, without rows that were erased.
   */
  replaces: ReplacedReceipt | null;
  /** The export's current policy for refused rows; null if nobody asks. */
  rejection: RejectedRowsPolicy | null;
  /** The attempts of the run, this one last; none if no worker has had it. */
  steps: AttemptSteps[];
};

/**
 * Thrown when another worker has taken the run, or its row is gone: stop without recording
 * anything.
 */
export class LostRunError extends Error {
  constructor() {
    super('The run is no longer in the hands of this worker.');
    this.name = 'LostRunError';
  }
}

/**
 * A receipt that gives way to another one, and the erasure for which, or that its rejected rows
 * are delivered again, or all of them where something of it was changed; the SHA-256 is of its
 * text.
 */
export type ReplacedReceipt = { run_id: string; receipt_sha256: string } & (
  | { erasure_id: string }
  | { redelivers: true; repairs?: true; source_records: number }
);

/**
 * Ages of the oldest and the newest delivered row when readers could see them, at the latest: from
 * the insertion of each until the end of its run. Null without rows, or where it is not known.
 */
export type RowAges = { oldest_row_seconds: number | null; newest_row_seconds: number | null };

/** The end of a run. */
export type RunEnd =
  | { status: 'Completed' }
  | { status: 'Failed' | 'FailedRetryable' | 'Cancelled'; code: string; message: string };

/**
 * A slice as it is stored: its bounds by insertion time (null: all rows of the run), from and to a
 * key where rows of one insertion are parted, its count at the source, and what was written once it
 * is safe.
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
