import type { DeliveredSlices, Difference } from '../destination/destination.ts';

/** How often a key was delivered and how often the table has it; listed only where the two differ. */
export type ComparedKey = { key: string; expected: number; found: number };

/** Where keys were compared: the table as users know it, its key column, and whether deliveries of other exports are in it too. */
export type ComparedTable = { name: string; key: string; is_shared: boolean };

/** More differences of one kind than this are counted, not named. */
const named_max = 1_000;

/** The differences of a table's rows, up to 1,000 of a kind by name and the others as a number. Rows of deliveries that are not ours cannot be told from added ones and are left out. */
export async function rowDifferences(
  keys: AsyncIterable<ComparedKey>,
  table: ComparedTable,
): Promise<Difference[]> {
  const named: Difference[] = [];
  const counts = new Map<Difference['kind'], number>();
  for await (const compared of keys) {
    const difference = differenceOf(compared, table);
    if (difference.kind === 'added' && table.is_shared) continue;
    const count = (counts.get(difference.kind) ?? 0) + 1;
    counts.set(difference.kind, count);
    if (count <= named_max) named.push(difference);
  }
  const unnamed = [...counts].filter(([, count]) => count > named_max);
  return [
    ...named,
    ...unnamed.map(([kind, count]) => ({
      kind,
      name: table.name,
      detail: `${count - named_max} more rows like these.`,
    })),
  ];
}

function differenceOf({ key, expected, found }: ComparedKey, table: ComparedTable): Difference {
  const name = `${table.name} ${table.key}=${key}`;
  if (expected === 0) return { kind: 'added', name, detail: 'No delivery holds this row.' };
  if (found === 0) return { kind: 'missing', name, detail: 'The row is gone.' };
  return {
    kind: found < expected ? 'missing' : 'changed',
    name,
    detail: `It was delivered ${expected} times and is there ${found} times.`,
  };
}

/** The differences between the receipts of deliveries and what `find` gives as the text that the destination holds of each. */
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
