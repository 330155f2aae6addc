import type { SchemaField } from './schema.ts';

/** The column of a row's permanent id, with the specification's name and id. */
export const row_id: SchemaField = {
  id: 2_147_483_540,
  name: '_row_id',
  required: false,
  type: 'long',
};

/** The column of the sequence number of the commit that last changed a row. */
export const row_sequence: SchemaField = {
  id: 2_147_483_539,
  name: '_last_updated_sequence_number',
  required: false,
  type: 'long',
};

/** The columns that a copied row keeps, in files of tables of format version 3. */
export const lineage_fields: readonly SchemaField[] = [row_id, row_sequence];

/**
 * The ids that rows of a file inherit if it has none of its own: the row at position n has
 * `first_row_id` + n. Null in a table whose rows have no ids yet; their number is null too then.
 */
export type Lineage = { first_row_id: bigint | null; sequence_number: bigint };
