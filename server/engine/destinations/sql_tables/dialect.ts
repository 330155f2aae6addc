import type { ValueRow } from '../../model/destination/content_source.ts';
import type { FoundColumn } from './fitting.ts';
import type { Layout } from './layout.ts';
import type { Target } from './target.ts';

/**
 * A database's SQL for its tables, in one session. Each destination provides one; the code that
 * prepares, checks, verifies or erases tables, or handles receipts, uses it. Bulk loading and the
 * commit belong to the destination itself.
 */
export type Dialect = {
  target: Target;
  /** Returns a name as an identifier. */
  quoted(name: string): string;
  /** Returns the placeholder of a value in a statement, counted from 1. */
  slot(at: number): string;
  /** Runs a statement with values for its placeholders, and returns its rows. */
  rows<Row extends Record<string, unknown>>(statement: string, values?: unknown[]): Promise<Row[]>;
  /** Translates an error of the other side into words that say what to do. */
  explained(error: unknown): unknown;
  /** Finds the columns of a table beside the target; undefined if the user sees no such table. */
  findColumns(table: string): Promise<FoundColumn[] | undefined>;
  /** Refuses a place without the config's schema. If absent, the session proves it. */
  requireSchema?(): Promise<void>;
  /** Creates the table of an export; another session may do so at the same moment. */
  createTable(layout: Layout): Promise<void>;
  /** Keeps the columns of the table unchanged until the open transaction ends. */
  lockTable?(): Promise<void>;
  /**
   * Refuses an unsuitable table, and lists all that is missing or unfit. Returns a warning if a
   * column changes values.
   */
  checkTable(layout: Layout, found: FoundColumn[]): Promise<string | undefined>;
  typed: TypedWords;
  receipts: ReceiptWords;
  /** If absent, no rows are set aside. */
  rejected?: RejectedWords;
  /** A longer text of ours is split into several rows, in the order of the column `part`. */
  text_bytes_max?: number;
  /**
   * Returns SQL for the text of a column's value; `name` is quoted, `type` is the table column's.
   */
  textOf(column: Layout['columns'][number], name: string, type: string | undefined): string;
  /** Sums of rows that the server computes. If absent, rows must be read to be compared. */
  sealing?: SealWords;
  /** The relation that contains merged rows once. If absent, the table does. */
  merged?: string;
  /** Prepares the rows of a query of texts for one or two reads, in bounded memory. */
  openTexts(query: string, columns: number): Promise<() => AsyncIterable<ValueRow>>;
  close(): Promise<void>;
};

/** SQL to sum rows: the same rows give the same sum until somebody changes them. */
type SealWords = {
  /** Returns SQL for a whole number that is a hash of the values of columns, with their types. */
  hashOf(columns: { quoted: string; type: string }[]): string;
  /** Returns an instant as a literal. */
  instant(text: string): string;
  /** Matches the types, as `findColumns` names them, that store instants to the microsecond. */
  instants: RegExp;
};

/** The columns of a project's schema. */
type TypedWords = {
  /** Returns the type of a nullable column. */
  typeOf(column: Layout['columns'][number]): string;
  /** True if `ADD COLUMN` takes `IF NOT EXISTS`. */
  knows_if_not_exists?: boolean;
  /** True if a statement adds one column alone. */
  one_by_one?: boolean;
  /** Runs a statement that adds columns. */
  run(statement: string): Promise<unknown>;
  /** The types, as `findColumns` names them, that store every value completely. */
  whole_types: Record<Layout['columns'][number]['type'], RegExp>;
};

/** The table of receipts. */
type ReceiptWords = {
  create(): Promise<void>;
  /** True for rows that are receipts. If absent, all are. */
  condition?: string;
  /** Sorts the valid receipt, or its parts, first. */
  order?: string;
  /** Returns true for the error of a user who may not replace a receipt. */
  isDenied?(error: unknown): boolean;
};

/** The table of rejected rows. */
type RejectedWords = {
  /** Its quoted name. */
  quoted: string;
  create(): Promise<void>;
  /** Refuses a table that cannot show its rows together with the target. */
  requireKind?(): Promise<void>;
  /** Runs checks at once that the server would defer to the commit. */
  check_now?: string;
  /** SQL for the text of the column `record`. If absent, the column is a text. */
  record?: string;
};
