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

/** An attempt's knowledge of its delivery. */
export type Standing = {
  /** The table holds the delivery and its receipt, by this attempt or another one. */
  is_delivered: boolean;
  /**
   * The table may show the delivery: it was there, or everything was done for it to be shown, and
   * the server did not refuse.
   */
  may_show: boolean;
};

/**
 * The operations of one attempt at a delivery whose slices wait in a stage until all are shown at
 * once. For an existing delivery `recover` is not called, nor `write` without `readsAgain`.
 */
export type StagedDelivery = {
  /** Name of the table in texts for users. */
  name: string;
  delivery: Pick<Delivery, 'delivery_id'>;
  /** Kept up by `commit` as far as the delivery may show; the rest is done here. */
  standing: Standing;
  /** Looks whether the delivery and its receipt are there. */
  begin(): Promise<boolean>;
  /**
   * Creates and checks the table and those beside it. Called once before `recover`. Left out: each
   * transaction does so itself.
   */
  prepare?(): Promise<void>;
  /**
   * Takes over what an earlier attempt has staged, and gives those of the outcomes that are there
   * and whole. From then on the earlier attempt can show nothing more. Called before the first
   * `write` or `commit`.
   */
  recover(outcomes: SliceOutcome[]): Promise<SliceOutcome[]>;
  /** Has a delivery that is there rows that are set aside, which `write` is to find again? */
  readsAgain?: boolean;
  /** Puts a slice where it waits, and gives what finds it again. */
  write(slice: Slice, bytes: Readable): Promise<Json>;
  /** Those rows of the slice that were set aside when it was written. */
  rejectedOf?(number: number): RejectedRow[];
  /**
   * Shows the slices with the receipt; of a delivery that is there the receipt replaces that of the
   * earlier run, so that the place holds what the newest run signed.
   */
  commit(outcomes: SliceOutcome[], manifest: Manifest): Promise<void>;
  /** Removes the hidden remains of the delivery, of any attempt. */
  abort(): Promise<void>;
  /**
   * Removes what a delivery that is there has left, where that cannot be part of its commit. The
   * delivery is whole by then, so a fault of this is logged and no fault of the delivery.
   */
  tidyUp?(): Promise<void>;
  close(): Promise<void>;
};

/** Returns the knowledge of a delivery before the first look. */
export function newStanding(): Standing {
  return { is_delivered: false, may_show: false };
}

/**
 * Opens an attempt at a delivery whose finished slices wait in a stage. Rows of a delivery that is
 * there already are read and left aside. Closes the work when it cannot begin. `explained` gives
 * errors of the other side in its words.
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
        'what a delivery waited in could not be removed',
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

/** Throws `rows_left_out` unless the server took all rows of the slice. */
export function requireRecords(slice: Pick<Slice, 'number' | 'records'>, taken: number): void {
  if (taken === slice.records) return;
  const rows = counted(slice.records, 'row');
  throw leftOutError(`Slice ${slice.number} has ${rows}, but the table took ${taken}`);
}

/** Throws `rows_left_out` unless the table took all rows that were staged. */
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
 * Throws `count_mismatch` unless all rows of the slice came to where `told` says how many it were.
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

/** The error of a server that does not let a repeat replace the receipt that is there. */
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

/**
 * Reads rows to their end and leaves them aside: those of a delivery that is there already are in
 * the table since its receipt is.
 */
export function leaveAside(bytes: Readable): Promise<void> {
  return pipeline(bytes, new Writable({ write: (_chunk, _encoding, callback) => callback() }));
}
