import type { StoredRectangle } from '../ledger/rectangles.ts';

/** The values of a row as texts, in column order; null stays null. */
export type ValueRow = (string | null)[];

/**
 * The contents of a slice: the insertions that it holds (null: the whole delivery), and the digest
 * of its rows if the receipt has one.
 */
export type SliceContents = {
  number: number;
  records: number;
  inserted_from: string | null;
  inserted_to: string | null;
  digest: string | undefined;
  /** True if the digest covers the rows as text (docs/decisions/0137). */
  is_rows_digest: boolean;
};

/**
 * The source as `verify` reads it again, for destinations whose contents it compares row by row.
 */
export type ContentSource = {
  /** Returns the rows of a delivery or of one slice as text, in the order of delivery. */
  rows(delivery_id: string, slice?: number): AsyncIterable<ValueRow>;
  /**
   * Returns false if the source has lost rows of the delivery. Only digests can be compared then.
   */
  isWhole(delivery_id: string): Promise<boolean>;
  /**
   * Returns the rectangles of event time and insertion time that a delivery covers, its column
   * names and its slices.
   */
  contents(delivery_id: string): {
    selection: StoredRectangle[];
    columns: string[];
    slices: SliceContents[];
  };
  /**
   * Finds the deliveries that left the ledger, and whose rows the compared ones have brought again.
   * Their receipts can still be there.
   */
  findBroughtAgain(): Promise<ReadonlySet<string>>;
  /**
   * Tells the reader a sentence that is no difference. `is_unproven`: it says that something was
   * not compared.
   */
  note(sentence: string, given?: { is_unproven: boolean }): void;
  /** Called for each row that `verify` reads, at the source or the destination. */
  onRow(): void;
};
