import { parseJson } from '../../../platform/parse_json.ts';
import type { HeldReceipt, WantedReceipts } from '../../model/destination/held_receipt.ts';
import type { World } from './world.ts';

/**
 * Gives the receipts beside the data files of those deliveries that the table shows. A receipt is
 * stored before the table changes, so one alone proves nothing.
 */
export async function* shownReceipts(
  world: World,
  wanted: WantedReceipts,
): AsyncGenerator<HeldReceipt> {
  const { place, deps, data, catalog } = world;
  for await (const held of place.definition.receipts!(data, deps, wanted)) {
    const receipt = parseJson(held.text ?? '') as
      | { delivery_id: string; batch_export_id: string }
      | undefined;
    if (receipt !== undefined && (await catalog.look(receipt)) === 'shown') yield held;
  }
}
