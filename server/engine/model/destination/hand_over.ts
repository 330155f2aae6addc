/**
 * Hands each item over, one at a time and in order, while the next one is being created. When this
 * returns all are taken; when it throws, what was being taken has come to its end.
 */
export async function handOver<Item>(
  items: AsyncIterable<Item>,
  take: (item: Item) => Promise<unknown>,
): Promise<void> {
  let taking: Promise<unknown> = Promise.resolve();
  try {
    for await (const item of items) {
      await taking;
      taking = take(item);
      // Heard of when the next item is there.
      taking.catch(() => undefined);
    }
  } finally {
    await taking.catch(() => undefined);
  }
  await taking;
}
