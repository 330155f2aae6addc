import { quoted } from './layout.ts';

/** A table that deliveries go to: its quoted name and that of the receipts beside it. */
export type Target = {
  table: string;
  quoted: string;
  receipts: string;
  /** How users are told of it. */
  name: string;
};

/** One of a schema. */
export type SchemaTarget = Target & { schema: string };

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
