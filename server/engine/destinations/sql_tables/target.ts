import { quoted } from './layout.ts';

/** A table of deliveries: its quoted name and that of the receipts beside it. */
export type Target = {
  table: string;
  quoted: string;
  receipts: string;
  /** Name in texts for users. */
  name: string;
};

/** A target with a table beside it for the rows that it refuses. */
export type RejectingTarget = Target & { rejected: string };

/** A target in a schema. */
export type SchemaTarget = RejectingTarget & { schema: string };

/** Returns the name of the table of rejected rows. */
export function rejectedName(table: string): string {
  return `${table}_rejected`;
}

/** Returns why no rows can be set aside beside a table with this name, or undefined. */
export function rejectedNameFault(table: string, bytes_max: number): string | undefined {
  if (Buffer.byteLength(rejectedName(table)) <= bytes_max) return undefined;
  return (
    `The table of rejected rows would be called ${rejectedName(table)}, and the server takes ` +
    `names of at most ${bytes_max} bytes. Choose a shorter table_name.`
  );
}

/** Returns the table of a config, with defaults. */
export function schemaTarget(config: { schema?: string; table_name?: string }): SchemaTarget {
  const schema = config.schema ?? 'public';
  const table = config.table_name ?? 'events';
  return {
    schema,
    table,
    quoted: `${quoted(schema)}.${quoted(table)}`,
    receipts: `${quoted(schema)}.sluice_receipts`,
    rejected: `${quoted(schema)}.${quoted(rejectedName(table))}`,
    name: `${schema}.${table}`,
  };
}
