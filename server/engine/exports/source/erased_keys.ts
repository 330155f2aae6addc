import { fromStored } from '../../model/ledger/rectangles.ts';
import type { StoredRectangle } from '../../model/ledger/rectangles.ts';
import type { ModelName } from '../../model/models/model.ts';
import { selectionCondition } from '../../model/models/selection.ts';
import type { Engine } from '../engine.ts';
import { keysOf } from './keys.ts';

/** The rows of one erasure. */
type Erased = { erasure_id: string; model: ModelName; selection: StoredRectangle[] };

/** The kind of a model's rows in `erasing_rows`. */
export const kinds: Record<ModelName, string> = {
  events: 'event',
  persons: 'person',
  person_distinct_ids: 'person',
  sessions: 'session',
  groups: 'group',
};

const keys_per_batch = 2_000;

/**
 * Returns the condition on `erasing_rows` that finds the source rows of a model's selection; its
 * parameter `erasure_id` is the erasure.
 */
export function erasedCondition({ model, selection }: Omit<Erased, 'erasure_id'>): string {
  const kind = kinds[model];
  const columns = { event: model === 'events' ? 'timestamp' : undefined, inserted: 'inserted_at' };
  return `kind = '${kind}' AND ${selectionCondition(fromStored(selection), columns)}`;
}

/** Yields the distinct keys of an erasure's rows in a selection, in batches. */
export function erasedKeys(
  engine: Pick<Engine, 'clickhouse'>,
  erased: Erased,
  signal: AbortSignal,
): AsyncGenerator<string[]> {
  const query = `SELECT DISTINCT key FROM erasing_rows
    WHERE erasure_id = {erasure_id:UUID} AND ${erasedCondition(erased)}`;
  return keysOf(engine, { query, ...asked(erased), count: keys_per_batch }, signal);
}

/** Yields the distinct ids of an erasure's persons, each once, in batches. */
export function erasedPersons(
  engine: Pick<Engine, 'clickhouse'>,
  { erasure_id }: Pick<Erased, 'erasure_id'>,
  signal: AbortSignal,
): AsyncGenerator<string[]> {
  const query = `SELECT DISTINCT distinct_id AS key FROM erasing_ids
    WHERE erasure_id = {erasure_id:UUID}`;
  return keysOf(engine, { query, ...asked({ erasure_id }), count: keys_per_batch }, signal);
}

/** Parameters of a query about an erasure, whose condition may be long. */
const asked = ({ erasure_id }: Pick<Erased, 'erasure_id'>) => ({
  query_params: { erasure_id },
  clickhouse_settings: { max_query_size: '16000000' },
});
