// Length: this file holds everything that a destination promises.
import type { Readable } from 'node:stream';
import type { Static, TObject } from 'typebox';
import type { Logger } from '../../../platform/log.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Outbound } from '../../../platform/outbound/outbound.ts';
import type { Database, Transaction } from '../../../platform/postgres/database.ts';
import type { AwsRoles } from './aws_roles.ts';
import type { Encoding } from './encoding.ts';
import type { Column, ColumnSet, TextRow } from '../models/column.ts';
import type { ContentSource } from './content_source.ts';
import type { AccountedNames, Difference } from './difference.ts';
import type { HeldReceipt, WantedReceipts } from './held_receipt.ts';
import type { Rectangle } from '../ledger/rectangles.ts';
import type { ModelName } from '../models/model.ts';
import type { ShownRequest } from './shown_request.ts';
import type { OptionalPackage } from './optional_package.ts';
import type { PartitionKey, SlicePartition, TableField } from './partition.ts';
import type { TableFiles } from './table_files.ts';
import type { RejectedKey, RejectedRow } from './rejected_rows.ts';
import type { MergeKeys, Written } from './write_mode.ts';

/** JSON as it is stored in a row. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** The rows to deliver. Every attempt and retry of one selection delivers the same rows. */
export type Delivery = Written & {
  /**
   * Names the delivery at the destination. A repeat with the same id replaces or finds the earlier
   * attempt's output and never adds to it.
   */
  delivery_id: string;
  run_id: string;
  /** Counts the workers that claimed this run. Only temporary names contain it. */
  attempt: number;
  batch_export_id: string;
  team_id: number;
  model: ModelName;
  /** ISO 8601, UTC, half open. */
  data_interval_start: string;
  data_interval_end: string;
  /**
   * The time zone of the export, such as `Europe/Berlin`. It stays the same while names depend on
   * it.
   */
  timezone: string;
  columns: Column[];
  /** The number of the project's schema that defines the typed columns; absent if it has none. */
  schema_number?: number;
  /**
   * Keys of the rows to remove from the existing delivery: uuids of events, distinct ids of
   * persons. A `commit` then shows the slices without these rows and replaces the receipt.
   */
  erased?: ErasedRows;
  /** The delivery replaces the rows that remain in the table. */
  repairs?: RepairedRows;
  /** Number of refused rows that the run sets aside before it fails. */
  rejects?: { rows_max: number };
  /** The run retries rows that an earlier commit of this delivery set aside. */
  redelivers?: true;
};

/**
 * Keys of erased rows, in batches. They are values of `column`, by default the key of the model.
 */
export type ErasedRows = { column?: string; keys(): AsyncIterable<string[]> };

/** Keys of all rows of a delivery, in batches, and the rectangles that contain its rows. */
export type RepairedRows = ErasedRows & { areas: Rectangle[] };

/**
 * One part of a delivery, ordered by `number` from 0, with the number of records counted at the
 * source. A crash always repeats the last slice, so its state need not survive one.
 */
export type Slice = {
  number: number;
  records: number;
  is_last?: true;
  partition?: SlicePartition;
};

/** Returns true for the only slice of a delivery. Storing it apart would gain nothing. */
export function isOnly(slice: Slice): boolean {
  return slice.number === 0 && slice.is_last === true;
}

/**
 * A slice that is safe at the destination but not yet visible. `name` is its final path, key or
 * table. `state` lets the sink find it again after a crash.
 */
export type SliceOutcome = {
  number: number;
  name: string;
  /** Records that the destination accepted. */
  records: number;
  /** Records that the destination refused and the run set aside. */
  rejected?: RejectedKey[];
  bytes: number;
  sha256: string;
  /**
   * The digest of the rows' contents, if a table can be compared by it: `rows_digest` for rows
   * passed as text (docs/decisions/0137), otherwise `digest` (docs/decisions/0031).
   */
  rows_digest?: string;
  digest?: string;
  state: Json;
};

/**
 * The receipt of a delivery: stored here, signed, and written to the destination. `text` is the
 * exact signed JSON text.
 */
export type Manifest = { name: string; text: string };

/**
 * Records that the run has completed, in one transaction with the writes of `show`. Throws if
 * another worker has claimed the run.
 */
export type EndOfRun = (show: (tx: Transaction) => Promise<void>) => Promise<void>;

/**
 * A slice that was written. `refused` lists rows to set aside. `bytes` and `sha256` describe the
 * stored bytes where they differ from the given ones.
 */
export type WrittenSlice = {
  name: string;
  state: Json;
  refused?: RejectedRow[];
  bytes?: number;
  sha256?: string;
};

/**
 * An open delivery. Guarantees of every destination: readers see nothing before `commit`. `commit`
 * may be repeated. `abort` leaves nothing of this delivery. The next `open` of the same delivery
 * finds the leftovers of a dead attempt.
 */
export type Sink = {
  /** True if `write` may be called for two slices at the same time. */
  writes_abreast?: true;
  /**
   * Returns true if an earlier attempt committed this delivery completely. The caller then only
   * calls `close`.
   */
  isCommitted(): Promise<boolean>;
  /**
   * Returns the slices of earlier attempts that still exist completely. The engine writes all
   * others again.
   */
  recover(outcomes: SliceOutcome[]): Promise<SliceOutcome[]>;
  /**
   * Reads one slice's final bytes to their end and makes them safe (flushed, acknowledged). Rejects
   * when the stream does. The slice does not count then.
   */
  write(slice: Slice, bytes: Readable): Promise<WrittenSlice>;
  /**
   * Shows all slices at once and the manifest last, or in the same transaction. If the
   * destination's table lives in the control store, it calls `end`, which ends the run in the same
   * transaction. Otherwise the run ends afterwards.
   */
  commit(outcomes: SliceOutcome[], manifest: Manifest, end?: EndOfRun): Promise<void>;
  /** Removes everything uncommitted that this delivery wrote. */
  abort(outcomes: SliceOutcome[]): Promise<void>;
  /** Releases connections and file handles; always called once. */
  close(): Promise<void>;
};

/** A committed delivery for `verify`: the text of the receipt and the slices. */
export type DeliveredSlices = { delivery: Delivery; outcomes: SliceOutcome[]; manifest: string };

/**
 * A fingerprint of a delivery, which the destination returns without reading the contents: `text`
 * changes with every change of the contents. `isExpected` is called for the first seal: false if
 * the contents cannot match the delivery.
 */
export type Seal = { text: string; isExpected(): boolean | Promise<boolean> };

/** The parts of the server that a destination may use. */
export type DestinationDeps = {
  log: Logger;
  /** The guard of every outbound connection. */
  outbound: Outbound;
  /** The control store and its clock, for tables in our own catalog. */
  db?: Database;
  clock?: Clock;
  /** Absolute path of the only folder that the File destination may write to. */
  export_dir: string;
  /**
   * True if the operator lets S3 destinations without an access key use the server's own
   * credentials.
   */
  has_environment_credentials?: boolean;
  aws_roles?: AwsRoles;
  /**
   * Aborted when the work must stop: every pending call and every later `open` then rejects at
   * once.
   */
  signal: AbortSignal;
  /** Called when the other side has completed something. It restarts the stall timer. */
  noteProgress?: () => void;
  /** Writes a warning into the log of the run, each text once. Absent when a config is tested. */
  warn?: (sentence: string) => void;
  /**
   * Called before a missing table is created again. Throws if rows of the present revision were
   * lost with it. Absent if nothing is delivered.
   */
  refuseLoss?: (table: string) => Promise<void>;
  /** The `merge` keys of a delivery, for a connection test. */
  merge?: MergeKeys | null;
  /** For a connection test: true if each delivery replaces all rows. */
  replaces?: boolean;
  /** A connection test stops after this many steps; by default after the last one. */
  steps_max?: number;
  /**
   * Encodes this one row as a run would send it, for connection tests of formats that only the
   * analytics store writes. Absent if no such store is available.
   */
  encodeRow?: (row: TextRow, encoding: Encoding) => Promise<Buffer>;
};

/** The operator's rules that decide whether a config is valid. */
export type OperatorRules = Pick<DestinationDeps, 'has_environment_credentials' | 'aws_roles'> & {
  /** The external id of the config's organization. */
  aws_external_id?: string;
};

/** A violation of a destination's own rules; `attr` is the config key. */
export type ConfigViolation = {
  attr: string;
  code: 'invalid_input' | 'invalid_choice' | 'required';
  detail: string;
};

/** A column that rows are sorted by, nulls last. */
export type SortedColumn = { column: string; is_descending: boolean };

/** One step of a connection test. */
export type CheckStep = {
  name: string;
  status: 'passed' | 'failed' | 'skipped';
  detail: string;
  duration_ms: number;
};

/** One destination type as data. Validation, encryption, masking, docs and tests derive from it. */
export type DestinationDefinition<Schema extends TObject = TObject> = {
  type: string;
  label: string;
  /**
   * The schema of the keys that users may set, with descriptions, defaults and
   * `additionalProperties: false`.
   */
  config: Schema;
  /** The npm package that it needs and that Sluice does not include. */
  package?: OptionalPackage;
  /** Keys of the config that are encrypted at rest and never returned. */
  secrets: readonly (keyof Static<Schema> & string)[];
  /**
   * Keys that determine where Sluice sends the secrets, or as which user. A change of one requires
   * every secret again.
   */
  where: readonly (keyof Static<Schema> & string)[];
  /**
   * Keys that exports may share as a connection: every secret, and the keys that say where it goes.
   */
  connection?: readonly (keyof Static<Schema> & string)[];
  /** Number of `check` steps that test these keys without a row; default one. */
  connection_steps?: number;
  /**
   * For keys in `where`: the less safe value. A change to any other value needs no confirmation.
   */
  less_safe?: Partial<Static<Schema>>;
  /**
   * Keys that only apply while another key has one of `values`, or any value if the list is empty.
   */
  only_with?: readonly {
    keys: readonly (keyof Static<Schema> & string)[];
    key: keyof Static<Schema> & string;
    values: readonly string[];
  }[];
  /**
   * Keys that change the route of the data but not its destination. A change begins no new
   * revision.
   */
  ways?: readonly (keyof Static<Schema> & string)[];
  /**
   * Returns the part of the place that secret keys determine, such as the account in a connection
   * string. A change begins a new revision. The result contains no secret.
   */
  place?(config: Static<Schema>): string;
  /**
   * Returns the host that runs of this config connect to, or a name for the bounded resource if all
   * share one host. `SLUICE_HOST_RUNS_MAX` bounds the runs per result. Reads no secret keys.
   * Undefined or absent: no bound.
   */
  host?(config: Static<Schema>): string | undefined;
  column_set: ColumnSet;
  /**
   * True if readers see each slice as soon as it is written, before `commit`: `abort` removes
   * nothing, `isCommitted` is never true, and `verify` has nothing to read. If absent, the
   * guarantees of `Sink` hold.
   */
  shows_as_written?: true;
  /**
   * A sentence that says why the contents can never be compared. If absent, `verify` reads them.
   */
  not_verifiable?: string;
  /**
   * True if a delivery that is missing after `abort` can never appear. `open` and `abort` wait for
   * or end a commit in progress, so that no earlier attempt shows rows afterwards. A function
   * decides by the config.
   */
  is_settled_by_abort?: true | ((config: Static<Schema>) => boolean);
  /**
   * The way in which erased rows leave an existing delivery. Sluice rewrites it (`anew`), deletes
   * its rows `by_key`, or removes them from a table of our own catalog with its older snapshots
   * (`in_table`). If absent, a person has to remove them manually.
   */
  erases?: 'anew' | 'by_key' | 'in_table';
  /**
   * True if a run can delete the delivery's remaining rows and write all rows again, in one
   * transaction. If absent, a backfill repairs a delivery to a table.
   */
  repairs_rows?: true;
  /**
   * Returns why this config cannot set refused rows aside; undefined if it can. If absent, no
   * config can: the other side accepts or refuses all rows together.
   */
  setAsideFault?(config: Static<Schema>): string | undefined;
  /**
   * Checks rules between keys that the schema cannot express; an empty list means the config is
   * valid. Without `rules`, the operator allows nothing.
   */
  validate(config: Static<Schema>, rules?: OperatorRules): ConfigViolation[];
  /**
   * Lists the columns of a query that the destination cannot accept, as sentences; if absent, it
   * accepts all.
   */
  columnFaults?(columns: Column[], config: Static<Schema>): string[];
  /** Checks rules about the files of a table against the export's columns and its merge key. */
  layoutViolations?(
    config: Static<Schema>,
    columns: readonly Column[],
    merge: MergeKeys | null | undefined,
  ): ConfigViolation[];
  /** Returns the encoding of a slice's bytes for this config. */
  encoding(config: Static<Schema>): Encoding;
  /**
   * Returns the first request for these encoded rows, for a preview, and sends nothing. If absent,
   * the slice is sent as encoded.
   */
  showRequest?(config: Static<Schema>, encoded: Buffer): Promise<ShownRequest>;
  /**
   * Returns the most bytes of uncompressed data that one slice should hold. Undefined or absent:
   * the engine's own bound.
   */
  sliceBytes?(config: Static<Schema>): number | undefined;
  /** The most rows of a slice, if they differ from the engine's own bound. */
  slices_most?: { records_max: number };
  /** Returns the partition keys of this config's files; empty or absent: no partitions. */
  partitionKeys?(config: Static<Schema>): readonly PartitionKey[];
  /**
   * Returns the partition fields of a table before rows are cut into slices, so that each slice has
   * one partition. With `is_whole`, a partition is one slice of any size. If absent, rows are cut
   * like those of files. `is_row_wise`: the insertion time tells rows apart.
   */
  tableParts?(
    config: Static<Schema>,
    delivery: Delivery,
    given: { is_row_wise: boolean; deps: DestinationDeps },
  ): Promise<{ fields: TableField[]; is_whole: boolean }>;
  /** Returns the sort columns of each file; empty or absent: order of arrival. */
  sortedBy?(config: Static<Schema>, delivery: Delivery): SortedColumn[];
  /** True for a file destination that can merge and replace the rows of its tables. */
  changes_rows?: true;
  /**
   * True if the slice size bounds a repeat and not a file. An estimate by the lengths of the values
   * is then enough.
   */
  slices_are_rough?: true;
  open(config: Static<Schema>, delivery: Delivery, deps: DestinationDeps): Promise<Sink>;
  /** Runs named, timed steps that end with a row written, read back and removed. */
  check(config: Static<Schema>, columns: Column[], deps: DestinationDeps): Promise<CheckStep[]>;
  /**
   * Reads the destination again and names the differences from the receipts of all committed
   * deliveries of one export.
   */
  verify(
    config: Static<Schema>,
    delivered: DeliveredSlices[],
    source: ContentSource,
    deps: DestinationDeps,
  ): Promise<Difference[]>;
  /**
   * The halves of `verify` if each delivery has its own objects: `compare` reads the objects of
   * some deliveries, `findForeign` looks for others. If absent, `verify` needs all deliveries at
   * once.
   */
  verify_parts?: {
    compare(
      config: Static<Schema>,
      delivered: DeliveredSlices[],
      source: ContentSource,
      deps: DestinationDeps,
    ): Promise<Difference[]>;
    findForeign(
      config: Static<Schema>,
      accounted: AccountedNames,
      deps: DestinationDeps,
    ): Promise<Difference[]>;
  };
  /**
   * Fetches the seals of deliveries by their ids. Absent or undefined: `verify` has to read the
   * contents.
   */
  seals?(
    config: Static<Schema>,
    delivered: DeliveredSlices[],
    source: ContentSource,
    deps: DestinationDeps,
  ): Promise<Map<string, Seal> | undefined>;
  /**
   * The halves of `verify` if a row's instants identify its delivery and `seals` returned seals:
   * `compare` reads the rows of some deliveries, `findStrangers` the rows outside all `areas`.
   */
  verify_areas?: {
    compare(
      config: Static<Schema>,
      delivered: DeliveredSlices[],
      source: ContentSource,
      deps: DestinationDeps,
    ): Promise<Difference[]>;
    findStrangers(
      config: Static<Schema>,
      delivery: Delivery,
      areas: Rectangle[],
      deps: DestinationDeps,
    ): Promise<Difference[]>;
  };
  /**
   * Returns the receipts of the export at the place of this config. The result may include known
   * ones and those of other exports. Absent if receipts cannot be read again.
   */
  receipts?(
    config: Static<Schema>,
    deps: DestinationDeps,
    wanted: WantedReceipts,
  ): AsyncIterable<HeldReceipt>;
  /**
   * Opens the files of a table in our own catalog, below the URI `folder`; absent if exports have
   * no such table.
   */
  openTableFiles?(
    config: Static<Schema>,
    table: { team_id: number; folder: string },
    deps: DestinationDeps,
  ): Promise<TableFiles>;
};
