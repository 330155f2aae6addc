import type { SchemaField } from './schema.ts';

/** The column of the id that a row keeps for ever, by the names and ids of the specification. */
export const row_id: SchemaField = {
  id: 2_147_483_540,
  name: '_row_id',
  required: false,
  type: 'long',
};

/** The column of the sequence number of the commit that changed a row last. */
export const row_sequence: SchemaField = {
  id: 2_147_483_539,
  name: '_last_updated_sequence_number',
  required: false,
  type: 'long',
};

/** The columns that a copied row carries along, in files of tables of format version 3. */
export const lineage_fields: readonly SchemaField[] = [row_id, row_sequence];

/**
 * The ids that rows of a file inherit where it has none of its own: the row at place n has
 * `first_row_id` + n. Null in a table whose rows have no ids yet; their number then is null too.
 */
export type Lineage = { first_row_id: bigint | null; sequence_number: bigint };
