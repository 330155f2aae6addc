import { Readable } from 'node:stream';
import { betweenFiles } from '../between_files.ts';
import {
  openPostgresServer,
  outcomeOf,
  uuidDelivery,
} from '../servers/databases/postgres_destination.ts';
import type { PostgresServer } from '../servers/databases/postgres_destination.ts';
import type {
  Delivery,
  Sink,
  Slice,
  SliceOutcome,
} from '../../server/engine/model/destination/destination.ts';
import type { PostgresConfig } from '../../server/engine/destinations/postgres/config.ts';
import { postgres } from '../../server/engine/destinations/postgres/postgres.ts';

/** The text of the slices of a delivery. */
export const slices = ['a\nb\n', 'c\n', 'd\n'];

/** Opened before the tests of the files that import it, and closed after them. */
export let server: PostgresServer;

/** A new schema and a delivery to it. */
export type Place = { config: PostgresConfig & { schema: string }; delivery: Delivery };

/** A new place. */
export async function freshPlace(changes: Partial<Delivery> = {}): Promise<Place> {
  return { config: await server.freshConfig(), delivery: uuidDelivery(changes) };
}

/** The tables of a place, sorted. */
export async function tablesOf({ config }: Place): Promise<string[]> {
  const found = await server.pool.query<{ name: string }>(
    'SELECT relname AS name FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = $2',
    [config.schema, 'r'],
  );
  return found.rows.map(({ name }) => name).toSorted();
}

/** Returns the rows in the table of a place. */
export async function rowsOf(place: Place): Promise<string[]> {
  if (!(await tablesOf(place)).includes('events')) return [];
  const found = await server.pool.query<{ uuid: string }>(
    `SELECT uuid FROM ${place.config.schema}.events ORDER BY uuid`,
  );
  return found.rows.map(({ uuid }) => uuid);
}

/** An attempt at the delivery of a place. */
export const openSink = ({ config, delivery }: Place, attempt = 1): Promise<Sink> =>
  postgres.open(config, { ...delivery, attempt }, server.deps);

/** Writes a slice of the delivery. */
export async function writeSlice(
  sink: Sink,
  number: number,
  text = slices[number]!,
  isLast = false,
): Promise<SliceOutcome> {
  const slice: Slice = {
    number,
    records: text.split('\n').length - 1,
    ...(isLast ? { is_last: true } : {}),
  };
  const written = await sink.write(slice, Readable.from([Buffer.from(text)]));
  return outcomeOf(number, text, written as { name: string; state: null });
}

/** Opens the exports of this file; files that need it run one after another. */
export const openAroundTests = betweenFiles(
  async () => {
    server = await openPostgresServer();
  },
  () => server.close(),
);
