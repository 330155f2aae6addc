import type { State } from './actions.ts';
import { checkpointOf } from './checkpoint.ts';
import { milliseconds } from './interval.ts';
import { lastCheckpointName, listLog, nameOf, readEntry } from './log.ts';
import type { Log } from './log.ts';
import type { World } from './world.ts';

/** Entries between two checkpoints by default; a table may set another number. */
const usual_checkpoint_interval = 10;
/** Entries are kept for thirty days by default; a table may set another time. */
const usual_retention_ms = 30 * 86_400_000;

/**
 * Writes a checkpoint after some entries, and removes the log before one that is old enough. The
 * delivery is complete by now, so a fault is logged and the next checkpoint retries.
 */
export async function keepLog(world: World, state: State): Promise<void> {
  const configuration = state.metaData?.configuration ?? {};
  const interval = Number(configuration['delta.checkpointInterval'] ?? usual_checkpoint_interval);
  if (state.version <= 0 || !(interval >= 1) || state.version % interval !== 0) return;
  try {
    await writeCheckpoint(world, state);
    if (configuration['delta.enableExpiredLogCleanup'] === 'false') return;
    const retention =
      milliseconds(configuration['delta.logRetentionDuration']) ?? usual_retention_ms;
    await removeOld(world, world.clock.now() - retention);
  } catch (error) {
    world.deps.log.warn({ err: error }, 'the log of a Delta table was not tidied up');
  }
}

/** The checkpoint is written before the file that names it, so readers never miss it. */
async function writeCheckpoint({ log, clock }: World, state: State): Promise<void> {
  const { version } = state;
  const { bytes, size } = checkpointOf(state, clock.now());
  await log.files.put(nameOf(log, version, '.checkpoint.parquet'), bytes);
  await log.files.put(lastCheckpointName(log), JSON.stringify({ version, size }));
}

/**
 * Removes entries before the newest checkpoint from before `until`, in milliseconds: no reader of a
 * later version needs them.
 */
async function removeOld({ log }: World, until: number): Promise<void> {
  const { checkpoints, versioned } = await listLog(log);
  const versions = [...checkpoints.keys()].toSorted((one, other) => one - other);
  let [low, high] = [0, versions.length];
  // The times of commits rise, so a binary search finds the checkpoint.
  while (low < high) {
    const middle = (low + high) >> 1;
    const at = await committedAt(log, versions[middle]!);
    if (at !== undefined && at < until) low = middle + 1;
    else high = middle;
  }
  const kept = versions[low - 1];
  if (kept === undefined) return;
  for (const { version, name } of versioned) if (version < kept) await log.files.remove(name);
}

/** Returns the time of a commit; undefined if its writer recorded none, or its entry is gone. */
async function committedAt(log: Log, version: number): Promise<number | undefined> {
  const entry = await readEntry(log, version);
  return entry?.find(({ commitInfo }) => commitInfo !== undefined)?.commitInfo?.timestamp;
}
