import type { DeliveredSlices, Difference } from '../destination/destination.ts';

/**
 * The differences between the receipts of deliveries and what `find` gives as the text that the
 * destination holds of each.
 */
export async function receiptDifferences(
  delivered: DeliveredSlices[],
  find: (delivery_id: string) => Promise<string | undefined>,
): Promise<Difference[]> {
  const differences: Difference[] = [];
  for (const { delivery, manifest } of delivered) {
    const name = `receipt ${delivery.delivery_id}`;
    const text = await find(delivery.delivery_id);
    if (text === undefined)
      differences.push({ kind: 'missing', name, detail: 'The receipt of this delivery is gone.' });
    else if (text !== manifest)
      differences.push({
        kind: 'changed',
        name,
        detail: 'Its text is not that of the receipt kept here.',
      });
  }
  return differences;
}
