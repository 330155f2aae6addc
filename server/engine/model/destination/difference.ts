/** A named thing that differs between a receipt and the destination. */
export type Difference = {
  kind: 'missing' | 'changed' | 'added' | 'unreadable';
  name: string;
  detail: string;
  /** The differing column, and the value as delivered and as found, both clipped. */
  column?: string;
  expected?: string;
  found?: string;
  /** The delivery that differs, where the name of what differs says it. */
  delivery_id?: string;
  /** The key of the differing row. */
  key?: string;
  /** Rows that it stands for; left out: one. */
  rows?: number;
  /** A receipt that differs, or a row that occurs too often; left out for any other difference. */
  about?: 'receipt' | 'repetition';
};

/** Names at the destination that deliveries account for, and the folders to look through. */
export type AccountedNames = { names: ReadonlySet<string>; folders: ReadonlySet<string> };
