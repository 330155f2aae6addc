import { randomInt, randomUUID } from 'node:crypto';
import { RetryableError } from '../../model/destination/errors.ts';
import type { Delivery, Json, SliceOutcome } from '../../model/destination/destination.ts';

/**
 * The state that finds a staged slice again: the number of its write, which its rows contain, and
 * the size of the slice in bytes.
 */
export type StagedState = { write: number; slice_bytes: number };

/** Returns the prefix of all stages of a delivery. */
export function stagePrefix({ delivery_id }: Delivery): string {
  return `sluice_stage_${delivery_id.replaceAll('-', '')}`;
}

/**
 * Returns a name for the stage of one attempt. The next attempt renames the stage, and the earlier
 * attempt then no longer finds it.
 */
export function stageName(delivery: Delivery): string {
  return `${stagePrefix(delivery)}_${randomUUID().slice(0, 8)}`;
}

/** Returns a number for a write that no other write of the delivery has. */
export function newWrite(): number {
  return randomInt(1, 2 ** 47);
}

/** Returns the state of a slice that was written to a stage, or undefined for another slice. */
export function stagedState({ state }: SliceOutcome): StagedState | undefined {
  return isStaged(state) ? state : undefined;
}

function isStaged(state: Json): state is StagedState {
  return typeof state === 'object' && state !== null && 'write' in state;
}

/** Returns the outcomes that a stage contains completely, by its row count of each write. */
export function wholeSlices(
  outcomes: SliceOutcome[],
  counted: ReadonlyMap<number, number>,
): SliceOutcome[] {
  return outcomes.filter((outcome) => {
    const state = stagedState(outcome);
    return (
      state !== undefined &&
      state.slice_bytes === outcome.bytes &&
      (counted.get(state.write) ?? 0) === outcome.records
    );
  });
}

/**
 * Returns the condition for stage rows of one of the slices; `column` is quoted. It excludes rows
 * of a write without an outcome.
 */
export function isOfSlices(column: string, outcomes: SliceOutcome[]): string {
  const writes = outcomes.map((outcome) => stagedState(outcome)?.write ?? 0);
  return `${column} IN (${writes.length === 0 ? '0' : writes.join(', ')})`;
}

/** Returns a name of ours that differs from all of these columns', ignoring case. */
export function freeName(wanted: string, columns: { name: string }[]): string {
  const taken = new Set(columns.map(({ name }) => name.toLowerCase()));
  let name = wanted;
  while (taken.has(name)) name += '_';
  return name;
}

/** Returns the error of an attempt that no longer finds its stage. */
export function stageLost(cause?: unknown): RetryableError {
  return new RetryableError(
    'slice_lost',
    'Another attempt works on this delivery, or somebody removed its stage table; the delivery ' +
      'continues with the present rows.',
    { cause },
  );
}
