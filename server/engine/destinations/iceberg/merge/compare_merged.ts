import { readParquet } from '../../formats/parquet/read_parquet.ts';
import { compareContents } from '../../sql_tables/comparing/compare_contents.ts';
import type { ContentSource, ValueRow } from '../../../model/destination/content_source.ts';
import type { DeliveredSlices } from '../../../model/destination/destination.ts';
import type { Difference } from '../../../model/destination/difference.ts';
import { hiddenRows } from '../../lake/listed_files.ts';
import { lastDeliveryKey } from '../catalogs/catalog.ts';
import { tableName } from '../config.ts';
import { liveFiles } from '../live_files.ts';
import { readData } from '../world.ts';
import type { World } from '../world.ts';

/**
 * Compares the rows of a merged table with its deliveries, like those of a database: each key has
 * its greatest row. A file that another writer compacted has the same rows and is no difference.
 * Delete files are one: Sluice does not read which rows they hide.
 */
export async function compareMerged(
  world: World,
  delivered: DeliveredSlices[],
  source: ContentSource,
): Promise<Difference[]> {
  const { delivery } = delivered[0]!;
  const properties = (await world.catalog.load())?.metadata.properties ?? {};
  const own = lastDeliveryKey(delivery.batch_export_id);
  const is_shared = Object.keys(properties).some(
    (key) => key.startsWith(lastDeliveryKey('')) && key !== own,
  );
  const { levels, name } = tableName(world.config);
  const live = await liveFiles(world);
  const hidden = [...live].flatMap(([uri, [entry]]): Difference[] => {
    const detail = hiddenRows(entry!);
    return detail === undefined ? [] : [{ kind: 'changed', name: uri, detail }];
  });
  if (hidden.length > 0) return hidden;
  const rows = async function* (): AsyncGenerator<ValueRow> {
    for (const [uri, entries] of live)
      for (const _ of entries) yield* readParquet(await readData(world, uri), delivery.columns);
  };
  return compareContents({ name: [...levels, name].join('.'), is_shared, rows }, delivered, source);
}
