import { randomInt, randomUUID } from 'node:crypto';
import { RetryableError } from '../../model/destination/errors.ts';
import type { Delivery, Json, SliceOutcome } from '../../model/destination/destination.ts';

/**
 * The state that finds a staged slice again: the number of its write, which its rows carry, and the
 * bytes that the slice was made of.
 */
export type StagedState = { write: number; slice_bytes: number };

/** The beginning of the names of all stages of a delivery. */
export function stagePrefix({ delivery_id }: Delivery): string {
  return `sluice_stage_${delivery_id.replaceAll('-', '')}`;
}

/**
 * A name for the stage of one attempt. The next attempt gives the stage another one, and then the
 * earlier attempt no longer finds it.
 */
export function stageName(delivery: Delivery): string {
  return `${stagePrefix(delivery)}_${randomUUID().slice(0, 8)}`;
}

/** A number for a write, such as no other write of the delivery has. */
export function newWrite(): number {
  return randomInt(1, 2 ** 47);
}

/** The state of a slice that was written to a stage, or undefined for one that went another way. */
export function stagedState({ state }: SliceOutcome): StagedState | undefined {
  return isStaged(state) ? state : undefined;
}

function isStaged(state: Json): state is StagedState {
  return typeof state === 'object' && state !== null && 'write' in state;
}

/** Those of the outcomes that a stage holds whole, which has so many rows of each write. */
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
 * The condition that a row in a stage is of one of the slices; `column` is quoted. Rows of a write
 * that nobody counts are left aside by it.
 */
export function isOfSlices(column: string, outcomes: SliceOutcome[]): string {
  const writes = outcomes.map((outcome) => stagedState(outcome)?.write ?? 0);
  return `${column} IN (${writes.length === 0 ? '0' : writes.join(', ')})`;
}

/** A name of ours that is none of these columns', in whatever letter case. */
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
