import type { State } from './actions.ts';
import { checkpointOf } from './checkpoint.ts';
import { milliseconds } from './interval.ts';
import { lastCheckpointName, listLog, nameOf, readEntry } from './log.ts';
import type { Log } from './log.ts';
import type { World } from './world.ts';

/** Entries from one checkpoint to the next, unless the table says otherwise. */
const usual_checkpoint_interval = 10;
/** Entries are kept for thirty days, unless the table says otherwise. */
const usual_retention_ms = 30 * 86_400_000;

/**
 * Writes a checkpoint after some entries, and removes the log below one that is old enough. The
 * delivery is there by now, so a fault is noted and the next checkpoint tries again.
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

/** The checkpoint comes before the file that names it, so readers never look for a missing one. */
async function writeCheckpoint({ log, clock }: World, state: State): Promise<void> {
  const { version } = state;
  const { bytes, size } = checkpointOf(state, clock.now());
  await log.files.put(nameOf(log, version, '.checkpoint.parquet'), bytes);
  await log.files.put(lastCheckpointName(log), JSON.stringify({ version, size }));
}

/**
 * Removes what lies below the newest checkpoint from before `until`, in milliseconds, and so what
 * no reader of a later version needs.
 */
async function removeOld({ log }: World, until: number): Promise<void> {
  const { checkpoints, versioned } = await listLog(log);
  const versions = [...checkpoints.keys()].toSorted((one, other) => one - other);
  let [low, high] = [0, versions.length];
  // The times of commits rise, so half of the checkpoints are out of question at each look.
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

/** The time of a commit; undefined if its writer did not tell it, or its entry is gone. */
async function committedAt(log: Log, version: number): Promise<number | undefined> {
  const entry = await readEntry(log, version);
  return entry?.find(({ commitInfo }) => commitInfo !== undefined)?.commitInfo?.timestamp;
}
