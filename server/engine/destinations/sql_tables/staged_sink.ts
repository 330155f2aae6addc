import { Writable } from 'node:stream';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Logger } from '../../../platform/log.ts';
import {
  NonRetryableError,
  RetryableError,
  withCertainty,
} from '../../model/destination/errors.ts';
import { withFaults } from '../../model/destination/faults.ts';
import type { RejectedRow } from '../../model/destination/rejected_rows.ts';
import type {
  Delivery,
  Json,
  Manifest,
  Sink,
  Slice,
  SliceOutcome,
} from '../../model/destination/destination.ts';
import { counted } from '../../../platform/counted.ts';

/** An attempt's state of its delivery. */
export type Standing = {
  /** True if the table has the delivery and its receipt, by this attempt or another one. */
  is_delivered: boolean;
  /**
   * True if the table may show the delivery: it was there, or all steps to show it were sent and
   * the server did not refuse.
   */
  may_show: boolean;
};

/**
 * The operations of one attempt at a delivery whose slices wait in a stage until all are shown at
 * once. For an existing delivery, `recover` is not called, nor `write` without `readsAgain`.
 */
export type StagedDelivery = {
  /** Name of the table in texts for users. */
  name: string;
  delivery: Pick<Delivery, 'delivery_id'>;
  /** `commit` updates whether the delivery may be visible; the rest is updated here. */
  standing: Standing;
  /** Returns true if the delivery and its receipt exist. */
  begin(): Promise<boolean>;
  /**
   * Creates and checks the table and those beside it. Called once before `recover`. If absent, each
   * transaction does so itself.
   */
  prepare?(): Promise<void>;
  /**
   * Claims an earlier attempt's stage, and returns the outcomes that it contains completely. From
   * then on, the earlier attempt can show nothing. Called before the first `write` or `commit`.
   */
  recover(outcomes: SliceOutcome[]): Promise<SliceOutcome[]>;
  /** True if an existing delivery has rows set aside, which `write` has to find again. */
  readsAgain?: boolean;
  /** Writes a slice to its waiting place, and returns the state that finds it again. */
  write(slice: Slice, bytes: Readable): Promise<Json>;
  /** Returns the rows of the slice that were set aside when it was written. */
  rejectedOf?(number: number): RejectedRow[];
  /**
   * Shows the slices with the receipt; for an existing delivery, the receipt replaces the earlier
   * run's, so that the place has the newest run's signature.
   */
  commit(outcomes: SliceOutcome[], manifest: Manifest): Promise<void>;
  /** Removes hidden leftovers of the delivery, of any attempt. */
  abort(): Promise<void>;
  /**
   * Removes leftovers of an existing delivery that its commit cannot remove. The delivery is
   * complete by then, so a fault here is only logged.
   */
  tidyUp?(): Promise<void>;
  close(): Promise<void>;
};

/** Returns the state of a delivery before the first check. */
export function newStanding(): Standing {
  return { is_delivered: false, may_show: false };
}

/**
 * Opens an attempt at a delivery whose finished slices wait in a stage. Rows of an existing
 * delivery are read and discarded. Closes the work if it cannot begin. `explained` translates
 * errors of the other side.
 */
export async function openStagedSink(
  work: StagedDelivery,
  explained: (error: unknown) => unknown,
  log: Logger,
): Promise<Sink> {
  const { name, standing, delivery } = work;
  let is_committed = false;
  const recovery = recoveryOf(work);
  const explain = <Result>(act: () => Promise<Result>) => withFaults(explained, act);
  const tidyUp = async () => {
    await explain(async () => work.tidyUp?.()).catch((error: unknown) =>
      log.warn(
        { err: error, delivery_id: delivery.delivery_id },
        'the staging of a delivery could not be removed',
      ),
    );
  };
  const commit = async (outcomes: SliceOutcome[], manifest: Manifest) => {
    await withCertainty(
      () => explain(() => recovery.first(outcomes).then(() => work.commit(outcomes, manifest))),
      () => standing.may_show,
    );
    is_committed = true;
    Object.assign(standing, { is_delivered: true, may_show: true });
    await tidyUp();
  };
  try {
    standing.is_delivered = await explain(() => work.begin());
    standing.may_show = standing.is_delivered;
  } catch (error) {
    await work.close();
    throw error;
  }
  // A worker that was killed right after its receipt may have left its stage.
  if (standing.is_delivered) await tidyUp();
  return {
    isCommitted: async () => standing.is_delivered,
    recover: (outcomes) => explain(() => recovery.run(outcomes)),
    write: async (slice, bytes) => {
      const state = await explain(() => write(work, recovery.first, slice, bytes));
      const refused = work.rejectedOf?.(slice.number) ?? [];
      return refused.length === 0 ? { name, state } : { name, state, refused };
    },
    commit: async (outcomes, manifest) => {
      if (!is_committed) await commit(outcomes, manifest);
    },
    abort: () => explain(() => work.abort()).finally(recovery.forget),
    close: () => work.close(),
  };
}

/** Prepares and recovers; `first` does so unless it was done since the beginning or an abort. */
function recoveryOf(work: StagedDelivery) {
  let is_done = false;
  const run = async (outcomes: SliceOutcome[]): Promise<SliceOutcome[]> => {
    if (work.standing.is_delivered) return outcomes;
    await work.prepare?.();
    const surviving = await work.recover(outcomes);
    is_done = true;
    return surviving;
  };
  return {
    run,
    first: async (outcomes: SliceOutcome[]) => void (is_done || (await run(outcomes))),
    forget: () => (is_done = false),
  };
}

async function write(
  work: StagedDelivery,
  recoverFirst: (outcomes: SliceOutcome[]) => Promise<void>,
  slice: Slice,
  bytes: Readable,
): Promise<Json> {
  try {
    await recoverFirst([]);
    if (!work.standing.is_delivered || work.readsAgain === true)
      return await work.write(slice, bytes);
    await leaveAside(bytes);
    return null;
  } finally {
    bytes.destroy();
  }
}

/** Throws `rows_left_out` unless the server accepted all rows of the slice. */
export function requireRecords(slice: Pick<Slice, 'number' | 'records'>, taken: number): void {
  if (taken === slice.records) return;
  const rows = counted(slice.records, 'row');
  throw leftOutError(`Slice ${slice.number} has ${rows}, but the table took ${taken}`);
}

/** Throws `rows_left_out` unless the table accepted all staged rows. */
export function requireMoved(expected: number, moved: number): void {
  if (moved === expected) return;
  const rows = counted(expected, 'row');
  throw leftOutError(`The delivery has ${rows}, but the table took ${moved}`);
}

function leftOutError(told: string): NonRetryableError {
  return new NonRetryableError(
    'rows_left_out',
    `${told}: a trigger or a rule of the table leaves rows out. Change it, or export to a ` +
      'separate table.',
  );
}

/**
 * Throws `count_mismatch` unless all rows of the slice arrived at the place that `told` describes.
 */
export function requireCame(
  slice: Pick<Slice, 'number' | 'records'>,
  came: number,
  told = `${came} came`,
): void {
  if (came === slice.records) return;
  throw new RetryableError(
    'count_mismatch',
    `Slice ${slice.number} has ${counted(slice.records, 'row')}, but ${told}; ` +
      'Sluice writes it again.',
  );
}

/** Returns the error of a server that does not let a repeat replace the existing receipt. */
export function receiptKeptError(receipts: string, cause: unknown): NonRetryableError {
  return new NonRetryableError(
    'permission_denied',
    'The rows of this delivery are there with the receipt of an earlier run, which the user ' +
      `may not replace. Grant UPDATE on ${receipts}, then retry the run.`,
    { cause },
  );
}

/** Counts the rows of the slices. */
export function recordsIn(outcomes: SliceOutcome[]): number {
  return outcomes.reduce((sum, outcome) => sum + outcome.records, 0);
}

/** Reads rows to their end and discards them: the table has the rows of an existing delivery. */
export function leaveAside(bytes: Readable): Promise<void> {
  return pipeline(bytes, new Writable({ write: (_chunk, _encoding, callback) => callback() }));
}
