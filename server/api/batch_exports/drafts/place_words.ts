import type { Destination } from '../body/destination_body.ts';

/** Config keys that name a place, by kind; a destination has at most one of each kind. */
const keys = {
  server: ['host', 'url', 'account', 'project_id'],
  table: ['table_name', 'table_id'],
  schema: ['schema', 'dataset_id'],
  container: ['bucket_name', 'container_name'],
} as const;

/**
 * Describes the place of a destination, without its secrets:
 * `table public.events in db at db.example.com`, `events/ in bucket lake`.
 */
export function placeWords({ type, config }: Destination): string {
  const values: Record<string, unknown> = config;
  const textOf = (key: string) => {
    const value = values[key];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const first = (names: readonly string[]) => names.map(textOf).find((text) => text !== undefined);
  const server = first(keys.server);
  const table = first(keys.table);
  if (table !== undefined) {
    const name = [first(keys.schema), table].filter((text) => text !== undefined).join('.');
    const database = textOf('database');
    return [
      `table ${name}`,
      ...(database === undefined ? [] : [`in ${database}`]),
      ...(server === undefined ? [] : [`at ${server}`]),
    ].join(' ');
  }
  const container = first(keys.container);
  const prefix = textOf('prefix') ?? 'the root';
  if (container !== undefined) return `${prefix} in ${container} (${type})`;
  if (server !== undefined) return server;
  return 'prefix' in config ? `the folder ${prefix} of this server` : type;
}
