import { parseJson } from '../../../platform/json/parse_json.ts';
import type { HeldReceipt, WantedReceipts } from '../../model/destination/held_receipt.ts';
import { generationKey } from './catalogs/catalog.ts';
import type { World } from './world.ts';

/**
 * Yields the receipts beside the data files of those deliveries that the table shows. A receipt is
 * stored before the table changes, so a receipt alone proves nothing.
 */
export async function* shownReceipts(
  world: World,
  wanted: WantedReceipts,
): AsyncGenerator<HeldReceipt> {
  const { place, deps, data, catalog } = world;
  const properties = (await catalog.load())?.metadata.properties ?? {};
  // A later generation has removed their rows, though their snapshot is still an ancestor.
  const isReplaced = ({
    batch_export_id,
    generation,
  }: {
    batch_export_id: string;
    generation?: string;
  }) => generation !== undefined && generation !== properties[generationKey(batch_export_id)];
  for await (const held of place.definition.receipts!(data, deps, wanted)) {
    const receipt = parseJson(held.text ?? '') as
      | { delivery_id: string; batch_export_id: string; generation?: string }
      | undefined;
    if (receipt === undefined || isReplaced(receipt)) continue;
    if ((await catalog.look(receipt)) === 'shown') yield held;
  }
}
