import type { ValueRow } from '../../model/destination/content_source.ts';
import type { FoundColumn } from './fitting.ts';
import type { Layout } from './layout.ts';
import type { Target } from './target.ts';

/**
 * The words that one kind of database has for its tables, in one session. Each destination fills
 * it; whoever prepares, checks, verifies or erases tables, or handles receipts, speaks it. Bulk
 * loading and the commit are the destination's own.
 */
export type Dialect = {
  target: Target;
  /** A name as an identifier. */
  quoted(name: string): string;
  /** The place of a value in a statement, counted from 1. */
  slot(at: number): string;
  /** Runs a statement with values for its places, and gives its rows. */
  rows<Row extends Record<string, unknown>>(statement: string, values?: unknown[]): Promise<Row[]>;
  /** Gives an error of the other side in words that say what to do. */
  explained(error: unknown): unknown;
  /** The columns of a table beside the target; undefined where the user sees no such table. */
  findColumns(table: string): Promise<FoundColumn[] | undefined>;
  /** Refuses a place without the schema that the config names. Left out: the session proves it. */
  requireSchema?(): Promise<void>;
  /** Creates the table of an export; another session may do so at the same moment. */
  createTable(layout: Layout): Promise<void>;
  /** Keeps the columns of the table as they are until the open transaction ends. */
  lockTable?(): Promise<void>;
  /**
   * Refuses a table that cannot take the export, by all that is missing or unfit. Gives a warning
   * where a column changes values.
   */
  checkTable(layout: Layout, found: FoundColumn[]): Promise<string | undefined>;
  typed: TypedWords;
  receipts: ReceiptWords;
  /** Left out: no rows are set aside. */
  rejected?: RejectedWords;
  /** A longer text of ours becomes several rows, in the order of the column `part`. */
  text_bytes_max?: number;
  /** SQL for the text of a column's value; `name` is quoted, `type` that of the table's column. */
  textOf(column: Layout['columns'][number], name: string, type: string | undefined): string;
  /** Sums of rows that the server makes. Left out: rows have to be read to be compared. */
  sealing?: SealWords;
  /** The relation that holds merged rows once. Left out: the table does. */
  merged?: string;
  /** Makes the rows of a query of texts ready to be read, once or twice, in bounded memory. */
  openTexts(query: string, columns: number): Promise<() => AsyncIterable<ValueRow>>;
  close(): Promise<void>;
};

/** The words to sum rows by: the same rows give the same sum as long as nobody changes them. */
type SealWords = {
  /** SQL for a whole number that is a hash of the values of columns, with their types. */
  hashOf(columns: { quoted: string; type: string }[]): string;
  /** An instant as a literal. */
  instant(text: string): string;
  /** The types, as `findColumns` names them, that hold instants to the microsecond. */
  instants: RegExp;
};

/** The columns of a project's schema. */
type TypedWords = {
  /** The type of a column that takes null. */
  typeOf(column: Layout['columns'][number]): string;
  /** Adds such columns to the table; one that is there by now is left as it is. */
  add(columns: Layout['columns']): Promise<void>;
  /** The types, as `findColumns` names them, that hold every value whole. */
  whole_types: Record<Layout['columns'][number]['type'], RegExp>;
};

/** The table of receipts. */
type ReceiptWords = {
  create(): Promise<void>;
  /** Holds for lines that are receipts. Left out: all are. */
  condition?: string;
  /** Brings the receipt that counts, or its parts, in order. */
  order?: string;
  /** Tells the error of a user who may not replace a receipt. */
  isDenied?(error: unknown): boolean;
};

/** The table of rejected rows. */
type RejectedWords = {
  /** Its quoted name. */
  quoted: string;
  create(): Promise<void>;
  /** Refuses a table that cannot show its rows together with the target. */
  requireKind?(): Promise<void>;
  /** Checks at once what the server would check with the commit. */
  check_now?: string;
  /** SQL for the text of the column `record`. Left out: the column is a text. */
  record?: string;
};
