import type { DestinationDefinition } from '../../model/destination/destination.ts';
import { fromStored, isHistory } from '../../model/ledger/rectangles.ts';
import { kinds } from '../../exports/source/erased_keys.ts';
import { columnsOf } from '../../exports/source/source_query.ts';
import { keyColumn, personColumn, saysWhose } from '../../destinations/sql_tables/layout.ts';
import { writtenBy } from '../../model/destination/write_mode.ts';
import type { Erasure } from './erasure.ts';
import type { ShownDelivery } from './shown_delivery.ts';

/** The column that an erasure selects rows by, and the kind of keys in it. */
export type ErasedBy = { column: string; kind: string };

/** The reason why rows without such a column stay. */
export const why_no_key = 'The rows have no key that identifies them in the table.';

type QueriedRows = Pick<ShownDelivery, 'model' | 'custom_query'> & {
  write_rule?: ShownDelivery['write_rule'];
};

/**
 * Returns the column that selects the rows of an erasure: the key of their model. A table that only
 * stores the owner of its rows is searched by the owner: an erasure of persons removes all their
 * rows. Undefined if no column fits. Throws if the query of the export is no longer valid.
 */
export function erasedBy(
  { column_set, erases }: Pick<DestinationDefinition, 'column_set' | 'erases'>,
  { model, custom_query, write_rule }: QueriedRows,
  { kind }: Pick<Erasure, 'kind'>,
): ErasedBy | undefined {
  const columns = columnsOf({ model, custom_query }, column_set);
  const column = keyColumn({ model, columns });
  if (column !== undefined) return { column, kind: kinds[model] };
  const isFound =
    erases === 'in_table'
      ? saysWhose(columns)
      : personColumn({ model, columns, ...writtenBy(write_rule) }) !== undefined;
  const isByPerson = kind === 'persons' && isFound;
  return isByPerson ? { column: 'distinct_id', kind: 'distinct_id' } : undefined;
}

/** Returns the reason why Sluice cannot rewrite a copy, as a sentence; undefined if it can. */
export function whyByHand(
  definition: DestinationDefinition | undefined,
  delivery: ShownDelivery,
  erasure: Pick<Erasure, 'kind'>,
): string | undefined {
  if (definition?.erases === undefined)
    return definition?.shows_as_written === true
      ? 'Sluice cannot reach copies that an endpoint made of the rows.'
      : `Sluice does not remove rows delivered to ${definition?.label ?? 'this destination'}.`;
  if (!delivery.is_current)
    return 'The export was deleted, or was changed to deliver other rows or to another place.';
  if (definition.erases === 'anew') return undefined;
  try {
    if (erasedBy(definition, delivery, erasure) !== undefined) return undefined;
  } catch {
    return 'The query of the export is no longer valid.';
  }
  return definition.erases === 'by_key' && isHistory(fromStored(delivery.selection))
    ? 'The next run of the export writes the table without these rows. To have this now, ' +
        'start a run.'
    : why_no_key;
}
