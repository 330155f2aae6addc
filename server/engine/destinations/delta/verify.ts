import { parseJson } from '../../../platform/parse_json.ts';
import type { DeliveredSlices, DestinationDeps } from '../../model/destination/destination.ts';
import type { AccountedNames, Difference } from '../../model/destination/difference.ts';
import type { HeldReceipt, WantedReceipts } from '../../model/destination/held_receipt.ts';
import { parseDeliveryName } from '../formats/naming.ts';
import { compareListed } from '../lake/listed_files.ts';
import type { ListedFiles } from '../lake/listed_files.ts';
import type { Config, LakePlace } from '../lake/place.ts';
import { placeConfig } from '../lake/table_places.ts';
import { decodedPath } from './actions.ts';
import type { State } from './actions.ts';
import { isShown } from './delivered.ts';
import type { ExportDelivery } from './delivered.ts';
import { loadTable } from './log.ts';
import { recordsOf } from './statistics.ts';
import { nameInTable } from './world.ts';
import type { World } from './world.ts';

/** Returns the data files that readers see, by their names in the table. */
export function filesIn({ adds }: State): ListedFiles {
  return new Map(
    [...adds.values()].map(({ path, size, stats }) => [
      decodedPath(path),
      [{ records: recordsOf(stats) ?? 0, bytes: size }],
    ]),
  );
}

/** Names the data files of deliveries that the table does not name as they are. */
export async function compareTable(
  world: World,
  delivered: DeliveredSlices[],
): Promise<Difference[]> {
  const live = filesIn(await loadTable(world.log));
  return compareListed(live, (name) => nameInTable(world, name), delivered);
}

/** Names the files beside those of deliveries, but for those that other writers have added. */
export async function findForeign(
  place: LakePlace,
  config: Config,
  accounted: AccountedNames,
  deps: DestinationDeps,
): Promise<Difference[]> {
  const look = place.definition.verify_parts!.findForeign;
  const found = await look(placeConfig(place, config, ''), accounted, deps);
  const others = found.filter(({ name }) => parseDeliveryName(name) === undefined);
  if (others.length === 0) return found;
  const files = await place.openFiles(config, deps);
  const known = new Set<string>();
  for (const folder of accounted.folders) {
    const { adds, removes } = await loadTable({ files, folder: `${folder}/_delta_log` });
    for (const path of [...adds.keys(), ...removes.keys()])
      known.add(`${folder}/${decodedPath(path)}`);
  }
  return found.filter((one) => !others.includes(one) || !known.has(one.name));
}

/**
 * Gives the receipts beside the data files of those deliveries that the table shows. A receipt is
 * stored before the table changes, so one alone proves nothing.
 */
export async function* shownReceipts(
  world: World,
  data: Config,
  wanted: WantedReceipts,
): AsyncGenerator<HeldReceipt> {
  const state = await loadTable(world.log);
  for await (const held of world.place.definition.receipts!(data, world.deps, wanted)) {
    const receipt = parseJson(held.text ?? '') as ExportDelivery | undefined;
    if (receipt !== undefined && isShown(state, receipt)) yield held;
  }
}
