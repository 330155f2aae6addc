import type { StoredRectangle } from '../ledger/rectangles.ts';

/** The values of a row as texts, in the order of the columns; null is null. */
export type ValueRow = (string | null)[];

/**
 * The contents of a slice: the insertions that it holds (null: all of its delivery), and the digest
 * of its rows if the receipt has one.
 */
export type SliceContents = {
  number: number;
  records: number;
  inserted_from: string | null;
  inserted_to: string | null;
  digest: string | undefined;
  /** True for a digest of the rows as text (docs/decisions/0137). */
  is_rows_digest: boolean;
};

/**
 * The source as `verify` reads it again, for destinations whose contents are compared row by row.
 */
export type ContentSource = {
  /**
   * The rows of a delivery, or of one slice of it, in the order in which they were delivered and
   * with the values of its columns as text.
   */
  rows(delivery_id: string, slice?: number): AsyncIterable<ValueRow>;
  /**
   * False when the source has not all rows of the delivery any more: then they can be compared by
   * their digests only.
   */
  isWhole(delivery_id: string): Promise<boolean>;
  /**
   * The rectangles of event time and insertion time that a delivery covers, the names of its
   * columns, and its slices.
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
   * Tells the reader a sentence that is no difference; `is_unproven` where it says that something
   * was not compared.
   */
  note(sentence: string, given?: { is_unproven: boolean }): void;
  /** Called for each row that was read again, on either side. */
  onRow(): void;
};
