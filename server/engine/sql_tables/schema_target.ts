import { quoted } from './layout.ts';

/** A table of a schema: its parts, its quoted name, the quoted name of the receipts beside it. */
export type SchemaTarget = {
  schema: string;
  table: string;
  quoted: string;
  receipts: string;
  /** How users are told of it. */
  name: string;
};

/** The table that a config names, with the defaults of what it leaves out. */
export function schemaTarget(config: { schema?: string; table_name?: string }): SchemaTarget {
  const schema = config.schema ?? 'public';
  const table = config.table_name ?? 'events';
  return {
    schema,
    table,
    quoted: `${quoted(schema)}.${quoted(table)}`,
    receipts: `${quoted(schema)}.sluice_receipts`,
    name: `${schema}.${table}`,
  };
}
