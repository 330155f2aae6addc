/**
 * Passes each item to `take`, one at a time and in order, while the next one is being created. When
 * it returns, all items are taken. When it throws, no item is still being taken.
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
      // The next `await taking` handles the rejection.
      taking.catch(() => undefined);
    }
  } finally {
    await taking.catch(() => undefined);
  }
  await taking;
}
