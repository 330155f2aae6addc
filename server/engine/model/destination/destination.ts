// Length: everything that a destination promises is read in one place.
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

/** The rows to deliver, the same for every attempt and retry of one selection. */
export type Delivery = Written & {
  /**
   * Names the delivery at the destination; a repeat with the same id replaces or finds what the
   * earlier attempt created, never adds to it.
   */
  delivery_id: string;
  run_id: string;
  /** Counts the workers that took this run; part of temporary names only. */
  attempt: number;
  batch_export_id: string;
  team_id: number;
  model: ModelName;
  /** ISO 8601, UTC, half open. */
  data_interval_start: string;
  data_interval_end: string;
  /** The zone of the export, as `Europe/Berlin`; the same while names depend on it. */
  timezone: string;
  columns: Column[];
  /** The number of the project's schema that has the typed columns; left out: there are none. */
  schema_number?: number;
  /**
   * Rows that are to leave the delivery that is there, by their keys: uuids of events, distinct ids
   * of persons. Then a `commit` over what is there shows the slices without them, and its receipt.
   */
  erased?: ErasedRows;
  /** Number of refused rows that do not end the delivery: they are set aside. */
  rejects?: { rows_max: number };
  /** Rows that were set aside when the delivery was shown are tried again. */
  redelivers?: true;
};

/**
 * Keys of rows that were erased, some at a time. They are values of `column`, if left out of the
 * key of the model.
 */
export type ErasedRows = { column?: string; keys(): AsyncIterable<string[]> };

/**
 * One part of a delivery, in the order of `number` from 0, with the records that the source
 * counted. A crash repeats the last one in any case, so it need not outlive one.
 */
export type Slice = {
  number: number;
  records: number;
  is_last?: true;
  partition?: SlicePartition;
};

/** True for the one slice of a delivery: nothing is gained by keeping it apart. */
export function isOnly(slice: Slice): boolean {
  return slice.number === 0 && slice.is_last === true;
}

/**
 * A slice that is safe at the destination, though not yet visible. `name` is its final path, key or
 * table; `state` is what the sink needs to find it again after a crash.
 */
export type SliceOutcome = {
  number: number;
  name: string;
  /** Those that the destination took. */
  records: number;
  /** Those that it refused and that were set aside. */
  rejected?: RejectedKey[];
  bytes: number;
  sha256: string;
  /**
   * The digest of the rows' contents, if a table can be compared with it: `rows_digest` if they
   * passed as text (docs/decisions/0137), otherwise `digest` (docs/decisions/0031).
   */
  rows_digest?: string;
  digest?: string;
  state: Json;
};

/**
 * The end of a delivery as it is stored, signed and left at the destination. `text` is the exact
 * signed JSON text.
 */
export type Manifest = { name: string; text: string };

/**
 * Records that the run has completed, in one transaction with what `show` does in it: both are
 * there afterwards, or neither. Throws if the run is no longer in these hands.
 */
export type EndOfRun = (show: (tx: Transaction) => Promise<void>) => Promise<void>;

/**
 * A slice that was written. `refused` are set aside. `bytes` and `sha256` are those of what is
 * stored, if that is not what was given.
 */
export type WrittenSlice = {
  name: string;
  state: Json;
  refused?: RejectedRow[];
  bytes?: number;
  sha256?: string;
};

/**
 * An open delivery. Guarantees that each destination gives: nothing is visible to a reader before
 * `commit`; `commit` may be repeated; after `abort` nothing of this delivery is left; a dead
 * attempt's leftovers are found by the next `open` of the same delivery.
 */
export type Sink = {
  /**
   * True when an earlier attempt of this delivery was committed completely; then nothing else needs
   * to be called but `close`.
   */
  isCommitted(): Promise<boolean>;
  /**
   * Returns the slices of earlier attempts that still exist whole. The engine writes the others
   * again.
   */
  recover(outcomes: SliceOutcome[]): Promise<SliceOutcome[]>;
  /**
   * Takes one slice's final bytes until they end, and makes them safe (flushed, acknowledged).
   * Rejects when the stream does; then nothing of the slice counts.
   */
  write(slice: Slice, bytes: Readable): Promise<WrittenSlice>;
  /**
   * Shows all slices at once, the manifest last (or in the same transaction). A destination
   * whose table lives in the control store shows it by `end`, which ends the run in the same
   * transaction; otherwise the run ends afterwards.
   */
  commit(outcomes: SliceOutcome[], manifest: Manifest, end?: EndOfRun): Promise<void>;
  /** Removes everything that this delivery wrote and did not commit, if there is anything. */
  abort(outcomes: SliceOutcome[]): Promise<void>;
  /** Gives connections and file handles back; always called once. */
  close(): Promise<void>;
};

/** A committed delivery for `verify`: the text of the receipt and the slices. */
export type DeliveredSlices = { delivery: Delivery; outcomes: SliceOutcome[]; manifest: string };

/**
 * The sign that a place shows of a delivery without its contents being read: `text` changes with
 * every change of them. `isExpected` is asked at the first sight: false where it cannot be what was
 * delivered.
 */
export type Seal = { text: string; isExpected(): boolean | Promise<boolean> };

/** The parts of the server that a destination may use. */
export type DestinationDeps = {
  log: Logger;
  /** The guard in front of every connection that leaves the server. */
  outbound: Outbound;
  /** The control store, and the time there, for tables in our own catalog. */
  db?: Database;
  clock?: Clock;
  /** Absolute folder that the File destination may write under. */
  export_dir: string;
  /**
   * True where the operator lets S3 destinations without an access key use the credentials of the
   * server itself.
   */
  has_environment_credentials?: boolean;
  aws_roles?: AwsRoles;
  /**
   * Aborted when the work is to stop: every call that waits for the other side rejects then, and
   * `open` at once.
   */
  signal: AbortSignal;
  /** Called when the other side has finished something: its time to stall starts again. */
  noteProgress?: () => void;
  /** Writes a warning into the log of the run, the same one once. Left out in tests of a config. */
  warn?: (sentence: string) => void;
  /**
   * Called before a table is created again of which receipts tell; throws where rows of the present
   * revision went with it. Left out where nothing is delivered.
   */
  refuseLoss?: (table: string) => Promise<void>;
  /** The `merge` of a delivery, for a connection test. */
  merge?: MergeKeys | null;
  /** For a connection test: each delivery takes the place of all rows. */
  replaces?: boolean;
  /** A connection test ends after so many steps; left out, after the last one. */
  steps_max?: number;
  /**
   * The bytes that a run would send of a slice of this one row, for connection tests of what only
   * the analytics store can write. Left out where no such store is at hand.
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

/** A column by which rows are sorted, nulls last. */
export type SortedColumn = { column: string; is_descending: boolean };

/** One step of a connection test. */
export type CheckStep = {
  name: string;
  status: 'passed' | 'failed' | 'skipped';
  detail: string;
  duration_ms: number;
};

/** One destination type as data: validation, encryption, masking, docs and tests follow from it. */
export type DestinationDefinition<Schema extends TObject = TObject> = {
  type: string;
  label: string;
  /** Keys that users may set: described, with defaults, `additionalProperties: false`. */
  config: Schema;
  /** The package of npm that it needs and Sluice does not bring. */
  package?: OptionalPackage;
  /** Keys of the config that are encrypted at rest and never come back. */
  secrets: readonly (keyof Static<Schema> & string)[];
  /**
   * Keys of the config that say where the secrets go, or as whom: a change of one asks for each
   * secret again.
   */
  where: readonly (keyof Static<Schema> & string)[];
  /** Keys that exports may share as a connection: every secret, and where each of them goes. */
  connection?: readonly (keyof Static<Schema> & string)[];
  /** Number of steps of `check` that test these keys alone, without a row; default one. */
  connection_steps?: number;
  /** For keys in `where`: the less safe value; a change to another value needs no confirmation. */
  less_safe?: Partial<Static<Schema>>;
  /** Keys that mean something only while another has one of `values`, or any if there are none. */
  only_with?: readonly {
    keys: readonly (keyof Static<Schema> & string)[];
    key: keyof Static<Schema> & string;
    values: readonly string[];
  }[];
  /**
   * Keys of the config that say by which way the data travel and not where they end: a change of
   * one begins no new revision.
   */
  ways?: readonly (keyof Static<Schema> & string)[];
  /**
   * Returns the place of the data as far as secret keys determine it, such as the account in a
   * connection string; a change begins a new revision. Contains no secret.
   */
  place?(config: Static<Schema>): string;
  /**
   * The host that runs of this config are sent to, or a name for what has the bounds where all
   * share one host; by it their number is bounded (`SLUICE_HOST_RUNS_MAX`). It is found in keys
   * that are not secret. Undefined, or left out: no bound.
   */
  host?(config: Static<Schema>): string | undefined;
  column_set: ColumnSet;
  /**
   * True where the other side sees each slice as it is written: nothing is hidden before `commit`,
   * `abort` takes nothing back, `isCommitted` is never true, and `verify` has nothing to read. Left
   * out, the guarantees of `Sink` hold.
   */
  shows_as_written?: true;
  /**
   * True where a delivery that is not there after `abort` never will be: `open` and `abort` wait
   * for a commit that is in progress, or end it, and no earlier attempt can show anything
   * afterwards. A function tells it of a config.
   */
  is_settled_by_abort?: true | ((config: Static<Schema>) => boolean);
  /**
   * The way in which erased rows leave an existing delivery: it is rewritten (`anew`), its rows are
   * deleted `by_key`, or they leave a table of our own catalog, with its older snapshots
   * (`in_table`). If absent, a person has to remove them by hand.
   */
  erases?: 'anew' | 'by_key' | 'in_table';
  /**
   * Rows that are refused for what they are can be set aside; gives why this config cannot. Left
   * out, no config can: the other side takes or refuses rows together.
   */
  setAsideFault?(config: Static<Schema>): string | undefined;
  /**
   * Rules between keys that the schema cannot say; an empty list means the config is right. Without
   * `rules` the operator allows nothing.
   */
  validate(config: Static<Schema>, rules?: OperatorRules): ConfigViolation[];
  /**
   * Lists in sentences the columns of a query that the destination cannot take; if absent, it takes
   * all.
   */
  columnFaults?(columns: Column[], config: Static<Schema>): string[];
  /**
   * Violations of rules about the files of a table, by the columns of the export and the key by
   * which its rows are merged.
   */
  layoutViolations?(
    config: Static<Schema>,
    columns: readonly Column[],
    merge: MergeKeys | null | undefined,
  ): ConfigViolation[];
  /** Returns the encoding of a slice's bytes for this config. */
  encoding(config: Static<Schema>): Encoding;
  /**
   * Left out, a slice is sent as it is encoded. Else the first request that would be made of these
   * encoded rows, for a preview; nothing is sent.
   */
  showRequest?(config: Static<Schema>, encoded: Buffer): Promise<ShownRequest>;
  /**
   * Most bytes of uncompressed data that one slice should hold. Undefined, or left out: the
   * engine's own bound.
   */
  sliceBytes?(config: Static<Schema>): number | undefined;
  /** Returns what the files of this config are parted by; none, or left out: they are not. */
  partitionKeys?(config: Static<Schema>): readonly PartitionKey[];
  /**
   * Returns the fields by which a table is parted, asked before rows are cut: each slice then has
   * one partition. With `is_whole` a partition is one slice, however large. Left out: rows are cut
   * as those of files. `is_row_wise`: rows can be told apart by their insertion.
   */
  tableParts?(
    config: Static<Schema>,
    delivery: Delivery,
    given: { is_row_wise: boolean; deps: DestinationDeps },
  ): Promise<{ fields: TableField[]; is_whole: boolean }>;
  /** The columns by which the rows of each file are sorted; none, or left out: as they came. */
  sortedBy?(config: Static<Schema>, delivery: Delivery): SortedColumn[];
  /** True for a destination of files that can merge and replace the rows of its tables. */
  changes_rows?: true;
  /** True where that bounds a repeat and no file: the lengths of the values are enough. */
  slices_are_rough?: true;
  open(config: Static<Schema>, delivery: Delivery, deps: DestinationDeps): Promise<Sink>;
  /** Named, timed steps up to a row written, read back and removed. */
  check(config: Static<Schema>, columns: Column[], deps: DestinationDeps): Promise<CheckStep[]>;
  /**
   * Reads the destination again and names what differs from the receipts of all committed
   * deliveries of one export.
   */
  verify(
    config: Static<Schema>,
    delivered: DeliveredSlices[],
    source: ContentSource,
    deps: DestinationDeps,
  ): Promise<Difference[]>;
  /**
   * The halves of `verify` where each delivery has its own objects: `compare` reads those of some
   * deliveries, `findForeign` looks for others. Left out, `verify` needs all deliveries at once.
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
   * Asks the place for the seals of deliveries, by their ids. Left out, or undefined: their
   * contents have to be read.
   */
  seals?(
    config: Static<Schema>,
    delivered: DeliveredSlices[],
    source: ContentSource,
    deps: DestinationDeps,
  ): Promise<Map<string, Seal> | undefined>;
  /**
   * The halves of `verify` where the instants of a row say its delivery and `seals` gave seals:
   * `compare` reads the rows of some deliveries, `findStrangers` those outside of all `areas`.
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
   * Gives the receipts that the place of this config holds of the export; others, and known ones,
   * may be among them. Left out where receipts cannot be read again.
   */
  receipts?(
    config: Static<Schema>,
    deps: DestinationDeps,
    wanted: WantedReceipts,
  ): AsyncIterable<HeldReceipt>;
  /**
   * Opens the files of a table in our own catalog, which lie below the URI `folder`; left out where
   * exports have no such table.
   */
  openTableFiles?(
    config: Static<Schema>,
    table: { team_id: number; folder: string },
    deps: DestinationDeps,
  ): Promise<TableFiles>;
};
