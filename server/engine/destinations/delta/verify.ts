import { createHash } from 'node:crypto';
import { parseJson } from '../../../platform/json/parse_json.ts';
import type { ContentSource } from '../../model/destination/content_source.ts';
import type {
  DeliveredSlices,
  DestinationDeps,
  Seal,
  SliceOutcome,
} from '../../model/destination/destination.ts';
import type { AccountedNames, Difference } from '../../model/destination/difference.ts';
import type { HeldReceipt, WantedReceipts } from '../../model/destination/held_receipt.ts';
import { parseDeliveryName } from '../formats/naming.ts';
import { compareListed, sealListed } from '../lake/listed_files.ts';
import type { ListedFiles } from '../lake/listed_files.ts';
import { isMerging } from '../lake/merge/state.ts';
import type { Config, LakePlace } from '../lake/place.ts';
import { placeConfig } from '../lake/table_places.ts';
import { compareContents } from '../sql_tables/comparing/compare_contents.ts';
import { decodedPath } from '../lake/delta_log/actions.ts';
import type { State } from '../lake/delta_log/actions.ts';
import { tableName } from '../lake/delta_log/config.ts';
import { isShared, isShown } from '../lake/delta_log/delivered.ts';
import type { ExportDelivery } from '../lake/delta_log/delivered.ts';
import { readData, rowsOf } from '../lake/delta_log/live_files.ts';
import { loadTable } from '../lake/delta_log/log.ts';
import { partOf, successorsIn } from '../lake/delta_log/parts.ts';
import type { Successor } from '../lake/delta_log/parts.ts';
import { recordsOf } from '../lake/delta_log/statistics.ts';
import { nameInTable } from '../lake/delta_log/world.ts';
import type { World } from '../lake/delta_log/world.ts';

/** Returns the data files that readers see, by their names in the table. */
export function filesIn({ adds }: State): ListedFiles {
  return new Map(
    [...adds.values()].map(({ path, size, stats }) => [
      decodedPath(path),
      [{ records: recordsOf(stats) ?? 0, bytes: size }],
    ]),
  );
}

type Moved = { delivery_id: string; outcome: SliceOutcome; successor: Successor | null };

/**
 * Lists differences of the table and of deliveries' data files, which `compare` reads. Rows that
 * maintenance has moved are searched in their new files. A merge rewrites all files of a delivery:
 * there, it compares the rows of the table.
 */
export async function compareTable(
  world: World,
  delivered: DeliveredSlices[],
  source: ContentSource,
  compare: (own: DeliveredSlices[]) => Promise<Difference[]>,
): Promise<Difference[]> {
  const { delivery } = delivered[0]!;
  const state = await loadTable(world.log);
  if (isMerging(delivery)) {
    const place = {
      name: tableName(world.config),
      is_shared: isShared(state, delivery.batch_export_id),
      rows: () => rowsOf(world, state, delivery.columns),
    };
    return compareContents(place, delivered, source);
  }
  const live = filesIn(state);
  const { own, moved } = apartMoved(world, live, successorsIn(state), delivered);
  return [
    ...(await compare(own)),
    ...compareListed(live, (name) => nameInTable(world, name), own),
    ...(await compareMoved(world, moved)),
  ];
}

/**
 * Returns the seals of deliveries whose files stay, from the log and the place's facts about the
 * files.
 */
export async function sealTable(
  world: World,
  delivered: DeliveredSlices[],
  seal: (own: DeliveredSlices[]) => Promise<Map<string, Seal> | undefined>,
): Promise<Map<string, Seal> | undefined> {
  if (isMerging(delivered[0]!.delivery)) return undefined;
  const state = await loadTable(world.log);
  const live = filesIn(state);
  const { own, moved } = apartMoved(world, live, successorsIn(state), delivered);
  const at = ({ add }: Successor) => {
    const name = decodedPath(add.path);
    return { name, at: `${world.folder}/${name}` };
  };
  return sealListed(
    await seal(own),
    live,
    (name) => nameInTable(world, name),
    {
      own,
      moved: moved.map(({ delivery_id, successor }) => ({
        delivery_id,
        successor: successor && at(successor),
      })),
    },
    (name) => world.log.files.writtenAt(name),
  );
}

/**
 * Returns deliveries with the slices that have their own files, and the slices whose rows moved.
 */
function apartMoved(
  world: World,
  live: ListedFiles,
  successors: ReadonlyMap<string, Successor | null>,
  delivered: DeliveredSlices[],
): { own: DeliveredSlices[]; moved: Moved[] } {
  const moved: Moved[] = [];
  const own = delivered.map((one) => ({
    ...one,
    outcomes: one.outcomes.filter((outcome) => {
      const part = partOf(outcome.name);
      const is_moved =
        part !== undefined && successors.has(part) && !live.has(nameInTable(world, outcome.name));
      if (is_moved) {
        const successor = successors.get(part) ?? null;
        moved.push({ delivery_id: one.delivery.delivery_id, outcome, successor });
      }
      return !is_moved;
    }),
  }));
  return { own, moved };
}

/** Compares the files with moved rows: each still has its original bytes. */
async function compareMoved(world: World, moved: Moved[]): Promise<Difference[]> {
  const hashes = new Map<string, Promise<string>>();
  const differences: Difference[] = [];
  for (const { delivery_id, outcome, successor } of moved) {
    if (successor === null) continue;
    const { path } = successor.add;
    if (!hashes.has(path)) hashes.set(path, sha256Of(world, path));
    const found = await hashes.get(path)!.catch(() => undefined);
    if (found === successor.sha256) continue;
    const name = decodedPath(path);
    const detail = `Its rows moved to ${name}. That file ${
      found === undefined ? 'is gone.' : 'has another SHA-256 than what was written.'
    }`;
    differences.push({
      kind: found === undefined ? 'missing' : 'changed',
      name: outcome.name,
      detail,
      delivery_id,
    });
  }
  return differences;
}

async function sha256Of(world: World, path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of await readData(world, path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** Names the files beside those of deliveries, unless the log names them otherwise. */
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
 * Yields the receipts beside the data files of those deliveries that the table shows. A receipt is
 * stored before the table changes, so a receipt alone proves nothing.
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
