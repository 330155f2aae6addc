import type { Delivery, DestinationDeps } from '../../model/destination/destination.ts';
import type { TableField } from '../../model/destination/partition.ts';
import type { Config, LakePlace } from '../lake/place.ts';
import { askedFields, usualFields } from '../lake/layout.ts';
import { isMerging } from '../lake/merge/state.ts';
import { openCatalog } from './open_world.ts';
import { requireColumns, tableFields } from './table.ts';

/**
 * Returns the partition fields of a delivery's rows: those of its export, else those of the table,
 * else those of a new one. A merge needs all rows of a partition at once.
 */
export async function partsOf(
  place: LakePlace,
  config: Config,
  delivery: Delivery,
  { is_row_wise, deps }: { is_row_wise: boolean; deps: DestinationDeps },
): Promise<{ fields: TableField[]; is_whole: boolean }> {
  const is_whole = isMerging(delivery);
  const asked = askedFields(config);
  if (asked !== undefined) return { fields: asked, is_whole };
  const catalog = await openCatalog(place, config, delivery.team_id, deps);
  const fields = (await tableFields(catalog, config)) ?? usualFields(delivery, is_row_wise);
  requireColumns(config, fields, delivery.columns);
  return { fields, is_whole };
}
