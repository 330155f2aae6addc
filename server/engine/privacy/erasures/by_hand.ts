import type { DestinationDefinition } from '../../model/destination/destination.ts';
import { fromStored, isHistory } from '../../model/ledger/rectangles.ts';
import { columnsOf } from '../../exports/source/source_query.ts';
import { keyColumn } from '../../destinations/sql_tables/layout.ts';
import type { ShownDelivery } from './shown_delivery.ts';

/** Why a copy cannot be rewritten from here, as a sentence; undefined where it can. */
export function whyByHand(
  definition: DestinationDefinition | undefined,
  delivery: ShownDelivery,
): string | undefined {
  if (definition?.erases === undefined)
    return definition?.shows_as_written === true
      ? 'What an endpoint has made of the rows cannot be reached from here.'
      : `Rows delivered to ${definition?.label ?? 'this destination'} are not removed from here.`;
  if (!delivery.is_current)
    return 'The export was deleted, or was changed to deliver other rows or to another place.';
  if (definition.erases === 'anew') return undefined;
  try {
    const columns = columnsOf(delivery, definition.column_set);
    if (keyColumn({ model: delivery.model, columns }) !== undefined) return undefined;
  } catch {
    return 'The query of the export is no longer valid.';
  }
  return definition.erases === 'by_key' && isHistory(fromStored(delivery.selection))
    ? 'The next run of the export writes the table without these rows. To have it now, start one.'
    : 'The rows have no key that identifies them in the table.';
}
