import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import type {
  DeliveredSlices,
  DestinationDefinition,
  DestinationDeps,
} from '../../server/engine/model/destination/destination.ts';
import type { ObjectStore } from '../../server/engine/destinations/object_store/object_store.ts';
import { sourceOf } from '../factories/batch_exports/content_sources.ts';
import { freshDelivery } from '../factories/batch_exports/deliveries.ts';

/** A place of objects, and the requests that it got. */
type ListedPlace = {
  definition: DestinationDefinition;
  config: Record<string, unknown>;
  deps: DestinationDeps;
  store: ObjectStore;
  requests: string[];
  /** Matches the requests that list objects. */
  lists: RegExp;
};

const piece = Buffer.alloc(1 << 20, 'abcdefghij');

async function deliver(
  { definition, config, deps }: ListedPlace,
  pieces: number,
): Promise<DeliveredSlices> {
  const delivery = freshDelivery();
  const sink = await definition.open(config, delivery, deps);
  const bytes = Readable.from(Array.from({ length: pieces }, () => piece));
  const written = await sink.write({ number: 0, records: 1 }, bytes);
  const outcomes = [{ number: 0, records: 1, bytes: pieces << 20, sha256: '', ...written }];
  await sink.commit(outcomes, { name: 'manifest', text: '{}' });
  await sink.close();
  return { delivery, outcomes, manifest: '{}' };
}

/**
 * Asserts that lists suffice to see new deliveries for the first time, also those in several parts,
 * and that objects which somebody else wrote are not taken for them.
 */
export async function assertListedSeals(place: ListedPlace): Promise<void> {
  const { definition, config, deps, store, requests, lists } = place;
  const delivered: DeliveredSlices[] = [];
  for (const pieces of [1, 1, 1, 9]) delivered.push(await deliver(place, pieces));
  const look = async () => {
    const seals = await definition.seals!(config, delivered, sourceOf([]), deps);
    const expected: boolean[] = [];
    for (const { delivery } of delivered)
      expected.push(await seals!.get(delivery.delivery_id)!.isExpected());
    return expected;
  };
  const seen = requests.length;
  assert.deepEqual(await look(), [true, true, true, true]);
  const others = requests.slice(seen).filter((request) => !lists.test(request));
  assert.deepEqual(others, [], 'an object was asked for although a list names it');
  const [same, other, shorter] = delivered.map(({ outcomes }) => outcomes[0]!.name);
  await store.put(same!, piece);
  await store.put(other!, Buffer.alloc(piece.length, 'x'));
  await store.put(shorter!, piece.subarray(1));
  assert.deepEqual(await look(), [false, false, false, true], 'its contents must be read');
}
