import type { Delivery } from '../../model/destination/destination.ts';
import type { TableField } from '../../model/destination/partition.ts';
import { askedFields, usualFields } from '../lake/layout.ts';
import { isMerging } from '../lake/merge/state.ts';
import { fieldsOfTable, lackingColumn, partitionFields } from '../lake/delta_log/layout.ts';
import { loadTable } from '../lake/delta_log/log.ts';
import { unsuitable } from '../lake/delta_log/table.ts';
import type { World } from '../lake/delta_log/world.ts';

/**
 * Returns the partition fields of a delivery's rows: those of its export, else those of the table,
 * else those of a new one. A merge needs all rows of a partition at once.
 */
export async function partsOfRows(
  world: World,
  delivery: Delivery,
  is_row_wise: boolean,
): Promise<{ fields: TableField[]; is_whole: boolean }> {
  const is_whole = isMerging(delivery);
  const asked = askedFields(world.config);
  if (asked !== undefined) return { fields: asked, is_whole };
  const { metaData, adds } = await loadTable(world.log);
  const own = metaData === undefined ? [] : fieldsOfTable(metaData);
  const is_new = own.length === 0 && adds.size === 0;
  const fields = is_new ? newFields(delivery, is_row_wise) : own;
  const lacking = lackingColumn(fields, delivery);
  if (lacking !== undefined)
    throw unsuitable(
      world,
      `it is partitioned by "${lacking}", and the export has no such column. Export to ` +
        'another table.',
    );
  return { fields, is_whole };
}

/** Returns the fields of a new table, unless the export has a column of such a name. */
function newFields(delivery: Delivery, is_row_wise: boolean): TableField[] {
  const fields = usualFields(delivery, is_row_wise);
  const made = partitionFields(fields, delivery.columns).map(({ name }) => name.toLowerCase());
  return delivery.columns.some(({ name }) => made.includes(name.toLowerCase())) ? [] : fields;
}
