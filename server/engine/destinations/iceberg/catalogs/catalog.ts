import type { Delivery, EndOfRun } from '../../../model/destination/destination.ts';
import type { TableSchema } from '../../lake/schema.ts';
import type { TableState } from '../../lake/table_metadata.ts';

/** The key of a snapshot's summary that names the delivery whose rows it added. */
export const delivery_key = 'sluice.delivery-id';

/** The property of a table that names the last delivery of an export: it outlives snapshots. */
export const lastDeliveryKey = (batch_export_id: string): string =>
  `sluice.last-delivery.${batch_export_id}`;

/** The property of a table that names an export's generation in it. */
export const generationKey = (batch_export_id: string): string =>
  `sluice.generation.${batch_export_id}`;

/** The name of a delivery, as receipts have it too. */
export type DeliveryName = Pick<Delivery, 'delivery_id' | 'batch_export_id'>;

/**
 * The state of a delivery in a table. `rolled_back`: a snapshot has it that is neither the current
 * one nor an ancestor, because another writer rolled the table back.
 */
export type Shown = 'shown' | 'rolled_back' | 'absent';

/** The requirements and updates of a commit, as the REST specification has them. */
export type Commit = { requirements: readonly unknown[]; updates: readonly unknown[] };

/** A table to create. */
export type AskedTable = {
  location: string;
  schema: TableSchema;
  properties: Record<string, string>;
};

/** A commit of files. `prepare` may be called several times, each time with a newer state. */
export type FileCommit = {
  delivery: Delivery;
  /** The table that the files were written for. */
  table_uuid: string;
  /** Returns the updates that add the snapshot to this state; an empty list changes nothing. */
  prepare(state: TableState): Promise<unknown[]>;
  end: EndOfRun;
};

/**
 * The catalog of one table. Errors tell the user what to do; `conflict` means that another writer
 * came first and that nothing was changed.
 */
export type TableCatalog = {
  /** Returns the current table; undefined if it does not exist. */
  load(): Promise<TableState | undefined>;
  /**
   * Does the same as `load`, but may use this delivery's latest read, for a change that the catalog
   * refuses if another came first.
   */
  loadRecent(): Promise<TableState | undefined>;
  /** Creates the table, and its namespace if that is missing. */
  create(table: AskedTable, delivery: Delivery): Promise<TableState>;
  /** Changes the table without a snapshot. */
  change(commit: Commit): Promise<void>;
  /** Checks how readers see a delivery. */
  look(delivery: DeliveryName): Promise<Shown>;
  /** Does the same as `look`; in our own catalog, nobody changes the table before `work` ends. */
  whileHeld<Result>(
    delivery: DeliveryName,
    work: (shown: Shown) => Promise<Result>,
  ): Promise<Result>;
  /** Chooses the id of the snapshot for a delivery. */
  snapshotId(delivery: DeliveryName): Promise<bigint>;
  /**
   * Shows a delivery in one snapshot; a shown one changes nothing. Our own catalog ends the run in
   * the same transaction. Throws `slice_lost` if the table is another one by now.
   */
  commit(commit: FileCommit): Promise<void>;
};
