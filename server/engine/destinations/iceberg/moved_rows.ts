import { createHash } from 'node:crypto';
import type { DeliveredSlices, SliceOutcome } from '../../model/destination/destination.ts';
import type { Difference } from '../../model/destination/difference.ts';
import { findReplaced } from '../../model/lake_catalog/replaced_files.ts';
import type { Successor } from '../../model/lake_catalog/replaced_files.ts';
import { hiddenRows } from '../lake/listed_files.ts';
import type { ListedFile, ListedFiles } from '../lake/listed_files.ts';
import { tableName } from './config.ts';
import type { World } from './world.ts';

/** Slices of a delivery whose rows have moved to other files. */
type Moved = { delivery_id: string; outcome: SliceOutcome; successor: Successor };

/**
 * Returns deliveries with the slices that have their own files, and the slices whose rows moved.
 */
export async function apartMoved(
  { deps, team_id, config, root }: World,
  delivered: DeliveredSlices[],
): Promise<{ own: DeliveredSlices[]; moved: Moved[] }> {
  const paths = delivered.flatMap(({ outcomes }) => outcomes.map(({ name }) => root + name));
  const replaced = await findReplaced(deps.db!, team_id, tableName(config), paths);
  const isMoved = ({ name }: SliceOutcome) => replaced.has(root + name);
  return {
    own: delivered.map((one) => ({
      ...one,
      outcomes: one.outcomes.filter((outcome) => !isMoved(outcome)),
    })),
    moved: delivered.flatMap(({ delivery, outcomes }) =>
      outcomes.filter(isMoved).map((outcome) => ({
        delivery_id: delivery.delivery_id,
        outcome,
        successor: replaced.get(root + outcome.name)!,
      })),
    ),
  };
}

/**
 * Compares the files with moved rows: each is named once, and has the bytes that were written when
 * its rows were compared with the earlier files.
 */
export async function compareMoved(
  world: World,
  live: ListedFiles,
  moved: Moved[],
): Promise<Difference[]> {
  const faults = new Map<string, Promise<[Difference['kind'], string] | undefined>>();
  const differences: Difference[] = [];
  for (const { delivery_id, outcome, successor } of moved) {
    if (successor === null) continue;
    if (!faults.has(successor.path))
      faults.set(successor.path, faultOf(world, live.get(successor.path) ?? [], successor));
    const fault = await faults.get(successor.path);
    if (fault === undefined) continue;
    const [kind, said] = fault;
    const detail = `Its rows moved to ${successor.path}. ${said}`;
    differences.push({ kind, name: outcome.name, detail, delivery_id });
  }
  return differences;
}

async function faultOf(
  { files, root }: World,
  entries: ListedFile[],
  { path, records, bytes, sha256, is_complete }: NonNullable<Successor>,
): Promise<[Difference['kind'], string] | undefined> {
  const [entry] = entries;
  if (entry === undefined) return ['missing', 'The table does not name that file.'];
  if (entries.length > 1) return ['changed', `The table names that file ${entries.length} times.`];
  if (entry.records !== records || entry.bytes !== bytes || !is_complete)
    return ['changed', 'The table says another number of rows of that file.'];
  const hidden = hiddenRows(entry);
  if (hidden !== undefined) return ['changed', hidden];
  const content = await files.read(path.slice(root.length));
  if (content === undefined) return ['missing', 'That file is gone.'];
  const hash = createHash('sha256');
  for await (const chunk of content as AsyncIterable<Buffer>) hash.update(chunk);
  return hash.digest('hex') === sha256
    ? undefined
    : ['changed', 'The SHA-256 of that file differs from what was written.'];
}
