import { isoInstant } from '../../../platform/clock.ts';
import type {
  Delivery,
  DestinationDefinition,
  SliceOutcome,
} from '../../model/destination/destination.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import { loadConfig } from '../../model/destination/stored_config.ts';
import type { StoredConfig } from '../../model/destination/stored_config.ts';
import { findDestination } from '../../destinations/index.ts';
import type { Engine } from '../engine.ts';
import type { Column } from '../../model/models/column.ts';
import { eventFilterOf } from '../../model/models/event_filter.ts';
import type { TypedColumn } from '../../model/schema/typed_relation.ts';
import { writtenBy } from '../../model/destination/write_mode.ts';
import { columnsOf } from '../source/source_query.ts';
import { createReceipt, signReceipt } from './receipt.ts';
import type { ClaimedRun, StoredSlice } from '../../model/run.ts';

/** The input of a run: its rows, and the destination with its full config, secrets included. */
export type Order = {
  definition: DestinationDefinition;
  config: Record<string, unknown>;
  delivery: Delivery;
};

/** The fields of a run that determine its input, except for its selection. */
type OrderedRun = Pick<
  ClaimedRun,
  | 'id'
  | 'batch_export_id'
  | 'delivery_id'
  | 'attempt'
  | 'team_id'
  | 'model'
  | 'custom_query'
  | 'write_rule'
  | 'schema_number'
  | 'typed_columns'
  | 'known_columns'
  | 'data_interval_start'
  | 'data_interval_end'
  | 'timezone'
  | 'destination_type'
  | 'destination_config'
  | 'destination_secrets'
>;

/**
 * Reads what a run has to deliver. Throws a NonRetryableError if this server does not know the
 * destination, cannot open its secrets or no longer understands its query.
 */
export function openOrder(engine: Pick<Engine, 'secrets'>, run: OrderedRun): Order {
  const definition = findDestination(run.destination_type);
  if (definition === undefined)
    throw new NonRetryableError(
      'unknown_destination',
      `This server has no destination of type ${run.destination_type}.`,
    );
  const delivery: Delivery = {
    delivery_id: run.delivery_id,
    run_id: run.id,
    attempt: run.attempt,
    batch_export_id: run.batch_export_id,
    team_id: run.team_id,
    model: run.model,
    data_interval_start: run.data_interval_start,
    data_interval_end: run.data_interval_end,
    timezone: run.timezone,
    columns: withNewColumns(
      columnsOf(run, definition.column_set),
      run.typed_columns,
      run.known_columns,
    ),
    ...(run.schema_number === null ? {} : { schema_number: run.schema_number }),
    ...writtenBy(run.write_rule, run),
  };
  return { definition, config: openConfig(engine, run.batch_export_id, run), delivery };
}

/**
 * Marks the columns of a schema. A table may lack columns that no delivery of the revision has
 * filled yet: they are not `known`.
 */
export function withNewColumns(
  columns: Column[],
  typed_columns: TypedColumn[] | null,
  known_columns: string[] | null = null,
): Column[] {
  const typed = new Set((typed_columns ?? []).map(({ column }) => column));
  const known = new Set(known_columns);
  return columns.map((column) =>
    typed.has(column.name)
      ? { ...column, typed: known.has(column.name) ? 'known' : 'new' }
      : column,
  );
}

/**
 * Returns the full config of the destination of a run or export. Throws `secrets_unreadable` if
 * this server's key does not open it.
 */
export function openConfig(
  engine: Pick<Engine, 'secrets'>,
  exportId: string,
  stored: StoredConfig,
): Record<string, unknown> {
  try {
    return loadConfig(engine.secrets, exportId, stored);
  } catch (error) {
    throw new NonRetryableError(
      'secrets_unreadable',
      "The destination's secrets cannot be decrypted with this server's key. Enter them " +
        'again, or start the server with the key that encrypted them.',
      { cause: error },
    );
  }
}

/** Returns the signed receipt of a run's written slices; without slices, it has no rows. */
export function receiptText(
  engine: Pick<Engine, 'secrets' | 'clock'>,
  run: Pick<ClaimedRun, 'selection' | 'destination_config' | 'replaces'>,
  { definition, config, delivery }: Order,
  written: { slices: StoredSlice[]; outcomes: SliceOutcome[] } = { slices: [], outcomes: [] },
): string {
  const receipt = createReceipt(delivery, {
    selection: run.selection,
    event_filter: eventFilterOf(run.destination_config),
    source_records: written.slices.reduce((sum, slice) => sum + slice.records, 0),
    encoding: definition.encoding(config),
    outcomes: written.outcomes,
    replaces: run.replaces,
    created_at: isoInstant(engine.clock.now()),
  });
  return signReceipt(receipt, engine.secrets);
}
