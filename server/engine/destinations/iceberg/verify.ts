import { counted } from '../../../platform/counted.ts';
import { parseJson } from '../../../platform/parse_json.ts';
import type { DeliveredSlices } from '../../model/destination/destination.ts';
import type { Difference } from '../../model/destination/difference.ts';
import type { HeldReceipt, WantedReceipts } from '../../model/destination/held_receipt.ts';
import { liveFiles } from './live_files.ts';
import type { World } from './world.ts';

/** Names the data files of deliveries that the table does not name exactly once, as they are. */
export async function compareListed(
  world: World,
  delivered: DeliveredSlices[],
): Promise<Difference[]> {
  const differences: Difference[] = [];
  const live = await liveFiles(world);
  for (const { delivery, outcomes } of delivered)
    for (const { name, records, bytes } of outcomes) {
      const { delivery_id } = delivery;
      const entries = live.get(world.root + name) ?? [];
      const [entry] = entries;
      const said = (kind: Difference['kind'], detail: string) =>
        differences.push({ kind, name, detail, delivery_id });
      if (entry === undefined)
        said('missing', 'The table does not name it: another writer removed or replaced it.');
      else if (entries.length > 1)
        said('changed', `The table names it ${entries.length} times, so readers see rows twice.`);
      else if (entry.records !== records || entry.bytes !== bytes)
        said(
          'changed',
          `The table says ${counted(entry.records, 'row')} in ${entry.bytes} bytes, the receipt ` +
            `${counted(records, 'row')} in ${bytes} bytes.`,
        );
    }
  return differences;
}

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
