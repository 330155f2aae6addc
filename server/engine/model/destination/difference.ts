/** A named difference between a receipt and the destination. */
export type Difference = {
  kind: 'missing' | 'changed' | 'added' | 'unreadable';
  name: string;
  detail: string;
  /** The differing column, with the delivered and the found value, both clipped. */
  column?: string;
  expected?: string;
  found?: string;
  /** The delivery that differs, if the name contains it. */
  delivery_id?: string;
  /** The key of the differing row. */
  key?: string;
  /** Number of rows that it stands for; default one. */
  rows?: number;
  /** A differing receipt or a row that occurs too often; absent for any other difference. */
  about?: 'receipt' | 'repetition';
};

/** Rows of no delivery that a look names; it counts the others. */
export const named_strangers_max = 100;

/** The detail of a row of no delivery, the same in every comparison: acceptances depend on it. */
export const stranger_detail = 'No delivery holds this row.';

/** Names at the destination that belong to deliveries, and the folders to search. */
export type AccountedNames = { names: ReadonlySet<string>; folders: ReadonlySet<string> };
