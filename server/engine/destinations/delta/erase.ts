import { NonRetryableError } from '../../model/destination/errors.ts';
import type { Delivery, Manifest } from '../../model/destination/destination.ts';
import { readStoredText } from '../formats/file_store.ts';
import { receiptsOfStem, stemOf } from '../formats/naming.ts';
import { parseJson } from '../../../platform/parse_json.ts';
import { encodedPath } from './actions.ts';
import type { State } from './actions.ts';
import { added, commitOnce, factsOf } from './commit.ts';
import type { OpenTable, StoredFile } from './commit.ts';
import { erasureIdOf, namesOf, numberOf } from './delivered.ts';
import { nameInTable } from './world.ts';
import type { World } from './world.ts';

/**
 * The folder for the files of a delivery from which rows are erased: readers of the others are not
 * disturbed while these are written. A `VACUUM` of another writer spares names with `_`.
 */
export function folderOfErasure(folder: string, { run_id }: Delivery): string {
  return `${folder}/_sluice/${run_id.replaceAll('-', '').slice(-12)}`;
}

/** Returns true if this run has taken the rows out of the table. */
function isErased(state: State, delivery: Delivery): boolean {
  const txn = state.txns.get(erasureIdOf(delivery));
  return txn !== undefined && Number(txn.version) === numberOf(delivery.run_id);
}

/**
 * Puts the files without the erased rows in the place of the delivery's, in one entry. Throws
 * `delivery_missing` if the table no longer names these: their rows may be in files of others.
 */
export async function replaceFiles(
  world: World,
  delivery: Delivery,
  { files, ...table }: OpenTable & { files: StoredFile[] },
  noteSent: () => void,
): Promise<void> {
  const { clock } = world;
  if (table.state.version === -1)
    throw new NonRetryableError(
      'delivery_missing',
      'The table is gone, so nothing was changed. Remove what is left of its files yourself.',
    );
  const known = isErased(table.state, delivery) ? [] : await shownNames(world, delivery);
  const version = numberOf(delivery.run_id);
  await commitOnce(world, delivery, table, {
    isDone: (state) => isErased(state, delivery),
    actions: ({ adds }) => [
      {
        commitInfo: {
          ...factsOf(world, delivery, 'DELETE'),
          operationParameters: { predicate: 'an erasure' },
        },
      },
      ...known.map((name) => {
        const file = adds.get(encodedPath(name));
        if (file === undefined) throw isMissing(name);
        const { path, partitionValues, size } = file;
        const facts = { dataChange: true, extendedFileMetadata: true, partitionValues, size };
        return { remove: { path, deletionTimestamp: clock.now(), ...facts } };
      }),
      ...files.map((file) => added(world, delivery, file)),
      { txn: { appId: erasureIdOf(delivery), version, lastUpdated: clock.now() } },
    ],
    noteSent,
  });
}

/**
 * Removes the files with the erased rows, which no version that is read now names, and leaves the
 * new receipt where the former was. Throws if a file cannot be removed.
 */
export async function removeErased(
  { log, folder }: World,
  delivery: Delivery,
  state: State,
  manifest: Manifest,
): Promise<void> {
  for (const name of namesOf(state.removes, delivery)) await log.files.remove(`${folder}/${name}`);
  await log.files.put(receiptNames(folder, delivery)[0], manifest.text);
}

/** The files of the delivery by its receipt. */
async function shownNames(world: World, delivery: Delivery): Promise<string[]> {
  for (const name of receiptNames(world.folder, delivery)) {
    const text = await readStoredText(world.log.files, name);
    const receipt = parseJson(text ?? '') as { slices?: { name: string }[] } | undefined;
    if (receipt?.slices !== undefined)
      return receipt.slices.map((slice) => nameInTable(world, slice.name));
  }
  throw new NonRetryableError(
    'receipt_missing',
    'The receipt beside the table is gone, so nothing was changed there. Remove the rows yourself.',
  );
}

function receiptNames(folder: string, delivery: Delivery): [string, string] {
  return receiptsOfStem(stemOf(folder, delivery));
}

function isMissing(name: string): NonRetryableError {
  return new NonRetryableError(
    'delivery_missing',
    `The table no longer names the file ${name}, so nothing was changed. Another writer has ` +
      'replaced it: remove the rows yourself.',
  );
}
