import { Writable } from 'node:stream';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isOnly } from '../destination/destination.ts';
import { RetryableError, withCertainty } from '../destination/errors.ts';
import type { Json, Manifest, Sink, Slice, SliceOutcome } from '../destination/destination.ts';

/**
 * What one attempt at a delivery does in a database that has locks and transactions. All but
 * `tidyUp` and `close` are called between `begin` and `end`.
 */
export type StagedDelivery = {
  /** How users are told of the table. */
  name: string;
  /**
   * Waits until no other attempt at the delivery works on it, and keeps it so until `end`. True
   * when the delivery and its receipt are there.
   */
  begin(): Promise<boolean>;
  /** Makes what was done since `begin` safe, or undoes it, and lets other attempts in. */
  end(statement: 'COMMIT' | 'ROLLBACK'): Promise<void>;
  /** Makes, checks and locks the table and the table of receipts. */
  prepare(): Promise<void>;
  /**
   * Makes this attempt the owner of what an earlier one has staged, and gives those of the outcomes
   * that are there and whole; the earlier one can stage and show nothing more.
   */
  takeOver(outcomes: SliceOutcome[]): Promise<SliceOutcome[]>;
  /** Makes the stage, which outlives the attempt. False where the user may not. */
  makeStage(): Promise<boolean>;
  /**
   * Puts a slice into the stage and gives what finds it again. Throws `slice_lost` when another
   * attempt has taken the stage over.
   */
  stage(slice: Slice, bytes: Readable): Promise<Json>;
  /** Puts a slice straight into the table. */
  insert(slice: Slice, bytes: Readable): Promise<void>;
  /** Moves everything that is staged into the table. Throws `slice_lost` as `stage` does. */
  move(outcomes: SliceOutcome[]): Promise<void>;
  /**
   * Writes the receipt, for a repeat (`is_repeat`) over that of the earlier run, so that the place
   * holds what the newest run signed.
   */
  writeReceipt(records: number, manifest: Manifest, is_repeat: boolean): Promise<void>;
  /** Did the server say by this error of a COMMIT that it has rolled back? */
  isRefusal(error: unknown): boolean;
  /** Removes the stage, whoever made it. */
  dropStage(): Promise<void>;
  /** Removes what a delivery that is there has left, where that cannot be part of its commit. */
  tidyUp?(): Promise<void>;
  close(): Promise<void>;
};

type Session = {
  work: StagedDelivery;
  /**
   * How its rows go into the table; undefined until the first slice or a stage of an earlier
   * attempt decides.
   */
  way: 'direct' | 'staged' | undefined;
  /** The table holds the delivery and its receipt, by this attempt or another one. */
  is_delivered: boolean;
  /** Has it begun, and is the table prepared since? */
  is_open: boolean;
  is_prepared: boolean;
  /** This attempt has put its receipt there. */
  is_committed: boolean;
  /**
   * The table may show the delivery: it was there, or the server was told to commit and did not
   * refuse.
   */
  may_show: boolean;
};

/** Runs work and throws its errors as ones that say what to do. */
type Explain = <Result>(work: () => Promise<Result>) => Promise<Result>;

/**
 * Opens an attempt at a delivery into a table. A delivery of one slice is one transaction. One of
 * several slices puts each, as it ends, into a stage that outlives the attempt, and moves them into
 * the table together with the receipt in one transaction; so a crash repeats one slice at most.
 * Where the user may make no stage, the whole delivery is one transaction. Closes the work when it
 * cannot begin.
 */
export async function openStagedSink(work: StagedDelivery, explain: Explain): Promise<Sink> {
  const session: Session = {
    work,
    way: undefined,
    is_delivered: false,
    is_open: false,
    is_prepared: false,
    is_committed: false,
    may_show: false,
  };
  try {
    await explain(async () => {
      await begin(session);
      // A worker that was killed right after its receipt may have left its stage.
      if (session.is_delivered) await work.tidyUp?.();
    });
  } catch (error) {
    await work.close();
    throw error;
  }
  return {
    isCommitted: async () => session.is_delivered,
    recover: (outcomes) => explain(() => recover(session, outcomes)),
    write: (slice, bytes) => explain(() => write(session, slice, bytes)),
    commit: (outcomes, manifest) =>
      withCertainty(
        () => explain(() => commit(session, outcomes, manifest)),
        () => session.may_show,
      ),
    abort: () => explain(() => abort(session)),
    close: () => work.close(),
  };
}

/** Throws `count_mismatch` unless the server took all rows of the slice. */
export function requireRecords(slice: Pick<Slice, 'number' | 'records'>, taken: number): void {
  if (taken === slice.records) return;
  throw new RetryableError(
    'count_mismatch',
    `Slice ${slice.number} has ${slice.records} rows, but the server took ${taken}; a trigger ` +
      'of the table may leave rows out.',
  );
}

/** Throws `count_mismatch` unless the table took all rows that were staged. */
export function requireMoved(expected: number, moved: number): void {
  if (moved === expected) return;
  throw new RetryableError(
    'count_mismatch',
    `The delivery has ${expected} rows, but the table took ${moved}; a trigger of the table ` +
      'may leave rows out.',
  );
}

/** How many rows the slices have. */
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

async function begin(session: Session): Promise<void> {
  if (session.is_open) return;
  session.is_prepared = false;
  try {
    session.is_delivered = await session.work.begin();
    session.may_show = session.is_delivered;
  } catch (error) {
    await session.work.end('ROLLBACK').catch(() => undefined);
    throw error;
  }
  session.is_open = true;
}

async function end(session: Session, statement: 'COMMIT' | 'ROLLBACK'): Promise<void> {
  if (!session.is_open) return;
  await session.work.end(statement);
  session.is_open = false;
}

async function prepare(session: Session): Promise<void> {
  if (session.is_prepared) return;
  await session.work.prepare();
  session.is_prepared = true;
}

/**
 * The table is made, checked and locked here, before the engine opens the query that would wait for
 * it.
 */
async function recover(session: Session, outcomes: SliceOutcome[]): Promise<SliceOutcome[]> {
  await begin(session);
  if (session.is_delivered) return outcomes;
  await prepare(session);
  const surviving = await session.work.takeOver(outcomes);
  if (surviving.length > 0) {
    await end(session, 'COMMIT');
    session.way = 'staged';
  }
  return surviving;
}

async function write(
  session: Session,
  slice: Slice,
  bytes: Readable,
): Promise<{ name: string; state: Json }> {
  try {
    await begin(session);
    if (session.is_delivered) await leaveAside(bytes);
    return {
      name: session.work.name,
      state: session.is_delivered ? null : await writeRows(session, slice, bytes),
    };
  } finally {
    bytes.destroy();
  }
}

async function writeRows(session: Session, slice: Slice, bytes: Readable): Promise<Json> {
  const { work } = session;
  await prepare(session);
  if (session.way === undefined) {
    await work.takeOver([]);
    // What is the only slice is repeated after a crash in any case.
    session.way = isOnly(slice) || !(await work.makeStage()) ? 'direct' : 'staged';
  }
  if (session.way === 'direct') {
    await work.insert(slice, bytes);
    return null;
  }
  const state = await work.stage(slice, bytes);
  await end(session, 'COMMIT');
  return state;
}

async function commit(
  session: Session,
  outcomes: SliceOutcome[],
  manifest: Manifest,
): Promise<void> {
  if (session.is_committed) return;
  const { work } = session;
  await begin(session);
  if (!session.is_delivered) await prepare(session);
  if (!session.is_delivered && session.way === 'staged') await work.move(outcomes);
  await work.writeReceipt(recordsIn(outcomes), manifest, session.is_delivered);
  await show(session);
  session.is_committed = true;
  session.is_delivered = true;
  await work.tidyUp?.();
}

async function show(session: Session): Promise<void> {
  session.may_show = true;
  try {
    await end(session, 'COMMIT');
  } catch (error) {
    if (session.work.isRefusal(error)) session.may_show = session.is_delivered;
    throw error;
  }
}

async function abort(session: Session): Promise<void> {
  await end(session, 'ROLLBACK');
  session.way = undefined;
  await begin(session);
  await session.work.dropStage();
  await end(session, 'COMMIT');
}
