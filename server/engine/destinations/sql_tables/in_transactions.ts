// Length: one delivery in transactions, from its beginning to its end.
import type { Readable } from 'node:stream';
import { isOnly } from '../../model/destination/destination.ts';
import type {
  Delivery,
  Json,
  Manifest,
  Slice,
  SliceOutcome,
} from '../../model/destination/destination.ts';
import { eraseRows, openAside } from './rejected/aside.ts';
import type { Aside } from './rejected/aside.ts';
import { sendByPart } from './rejected/set_aside.ts';
import type { RejectedTable } from './rejected/set_aside.ts';
import { commitKnowingly } from './commit.ts';
import type { Commit } from './commit.ts';
import { leaveAside, newStanding, recordsIn } from './staged_sink.ts';
import type { StagedDelivery, Standing } from './staged_sink.ts';

/** A session that can show a delivery: all of its rows are in the table, in an open transaction. */
type Shower = {
  /**
   * Writes the receipt; a repeat (`is_repeat`) replaces the earlier run's, so that the place has
   * the newest run's signature.
   */
  writeReceipt(records: number, manifest: Manifest, is_repeat: boolean): Promise<void>;
  /** Commits or rolls back the transaction, and lets other attempts in. */
  end(statement: 'COMMIT' | 'ROLLBACK'): Promise<void>;
} & Pick<Commit, 'answerOf' | 'isThere'>;

/**
 * The operations of one attempt at a delivery in a database with locks and transactions. All except
 * `tidyUp` and `close` are called between `begin` and `end`.
 */
export type TransactionalDelivery = Shower & {
  /** Name of the table in texts for users. */
  name: string;
  delivery: Delivery;
  /**
   * Waits until no other attempt works on the delivery, and holds it until `end`. Returns true if
   * the delivery and its receipt exist.
   */
  begin(): Promise<boolean>;
  /** Creates, checks and locks the table and those beside it, once in each transaction. */
  prepare(): Promise<void>;
  /**
   * Claims an earlier attempt's stage, and returns the outcomes that it contains completely; the
   * earlier attempt can stage and show nothing from then on, and holds no table. Called right after
   * `begin`, before `prepare`.
   */
  takeOver(outcomes: SliceOutcome[]): Promise<SliceOutcome[]>;
  /** Creates the stage, which outlives the attempt. False if the user may not. */
  createStage(): Promise<boolean>;
  /**
   * Opens a mover of slices, which works while the next ones are staged. Absent or undefined: all
   * are moved at the end.
   */
  openMover?(): Promise<Mover | undefined>;
  /**
   * Writes a slice to the stage and returns the state that finds it again. Throws `slice_lost` if
   * another attempt has claimed the stage.
   */
  stage(slice: Slice, bytes: Readable): Promise<Json>;
  /** Writes a slice directly to the table. */
  insert(slice: Slice, bytes: Readable): Promise<void>;
  /**
   * Moves everything that is staged into the table; a generation replaces the existing rows. Throws
   * `slice_lost` like `stage`, and like `clear`.
   */
  move(outcomes: SliceOutcome[]): Promise<void>;
  /**
   * Removes the rows that a generation replaces, in the transaction that shows its rows, before any
   * unstaged row comes. Throws if the table must stay. If absent, or without a generation, nothing
   * is removed.
   */
  clear?(): Promise<void>;
  /** Deletes rows of the table by their keys, in the transaction. If absent, it never does. */
  erase?(keys: string[]): Promise<void>;
  /** The table for refused rows. If absent, no rows are set aside. */
  rejected?: RejectedTable;
  /** Removes the stage of any attempt. */
  dropStage(): Promise<void>;
  /** Removes leftovers of an existing delivery that its commit cannot remove. */
  tidyUp?(): Promise<void>;
  close(): Promise<void>;
};

/**
 * A second session of an attempt, with one open transaction in which staged slices move into the
 * table while the next ones are staged. Its commit is that of the delivery; if it ends otherwise,
 * the stage still has everything.
 */
export type Mover = Shower & {
  /** Moves a slice after the earlier ones; does not wait. */
  move(number: number): void;
  /** Returns true while more than one slice waits to be moved. */
  isBehind(): boolean;
  /**
   * Throws `slice_lost` if another attempt has claimed the stage, otherwise the reason of a failed
   * move. The holder of the delivery calls it.
   */
  check(): Promise<void>;
  /** Writes a slice directly to the table, after all moved ones: a crash repeats it. */
  insert(slice: Slice, bytes: Readable): Promise<void>;
  /** Waits until all is moved, claims the delivery, and removes the stage. */
  finish(): Promise<void>;
  /** Rolls back rows that were moved and not committed. */
  close(): Promise<void>;
};

type Session = Standing & {
  work: TransactionalDelivery;
  /**
   * The path of its rows to the table; undefined until the first slice or an earlier attempt's
   * stage decides.
   */
  way: 'direct' | 'staged' | undefined;
  mover: Mover | undefined;
  /** True if a receipt of the delivery exists, which the next one replaces. */
  has_receipt: boolean;
  /** True once it has begun and prepared the table. */
  is_open: boolean;
  is_prepared: boolean;
  /** Undefined if no rows are set aside. */
  aside: Aside | undefined;
};

/**
 * Opens a delivery in transactions. A delivery of a single slice is one transaction. A delivery of
 * several slices writes each finished slice to a stage that outlives the attempt. It moves them
 * into the table together with the receipt in one transaction, so a crash repeats one slice at
 * most. With a mover, the moves run in parallel to the staging. If the user may create no stage,
 * the whole delivery is one transaction; so is one that sets rows aside, together with their table
 * and the receipt.
 */
export function inTransactions(work: TransactionalDelivery): StagedDelivery {
  const session: Session = {
    ...newStanding(),
    work,
    way: undefined,
    mover: undefined,
    has_receipt: false,
    is_open: false,
    is_prepared: false,
    aside: undefined,
  };
  if (work.rejected !== undefined)
    session.aside = openAside(
      { table: work.rejected, send: sendByPart(work.insert), delivery: work.delivery },
      () => prepare(session),
    );
  return {
    name: work.name,
    delivery: work.delivery,
    standing: session,
    begin: async () => {
      await begin(session);
      return session.is_delivered;
    },
    recover: (outcomes) => recover(session, outcomes),
    readsAgain: work.rejected !== undefined,
    write: (slice, bytes) => write(session, slice, bytes),
    rejectedOf: (number) => session.aside?.rejectedOf(number) ?? [],
    commit: (outcomes, manifest) => commit(session, outcomes, manifest),
    abort: () => abort(session),
    tidyUp: async () => work.tidyUp?.(),
    close: async () => void (await Promise.all([closeMover(session), work.close()])),
  };
}

async function begin(session: Session): Promise<void> {
  if (session.is_open) return;
  session.is_prepared = false;
  try {
    session.has_receipt = await session.work.begin();
    // A repair always writes its rows.
    session.is_delivered = session.has_receipt && session.work.delivery.repairs === undefined;
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

async function goStaged(session: Session): Promise<void> {
  session.way = 'staged';
  session.mover = await session.work.openMover?.();
}

/**
 * The table is created, checked and locked here, before the engine opens the query that would wait
 * for it.
 */
async function recover(session: Session, outcomes: SliceOutcome[]): Promise<SliceOutcome[]> {
  await begin(session);
  if (session.is_delivered) return outcomes;
  const { rejects } = session.work.delivery;
  const surviving = await session.work.takeOver(rejects === undefined ? outcomes : []);
  await prepare(session);
  if (surviving.length === 0) return [];
  await goStaged(session);
  await end(session, 'COMMIT');
  for (const { number } of surviving) session.mover?.move(number);
  return surviving;
}

async function write(session: Session, slice: Slice, bytes: Readable): Promise<Json> {
  await begin(session);
  if (session.is_delivered) {
    await (session.aside?.readAgain(slice, bytes) ?? leaveAside(bytes));
    return null;
  }
  if (session.way === undefined) await chooseWay(session, slice);
  if (session.way === 'staged') return writeStaged(session, slice, bytes);
  await prepare(session);
  const { aside, work } = session;
  await (aside === undefined || work.delivery.rejects === undefined
    ? work.insert(slice, bytes)
    : aside.insert(slice, bytes));
  return null;
}

/**
 * A single slice is always repeated after a crash; that of a generation is staged, so that the
 * table is only locked for its change. A delivery that sets rows aside stages none: a stage lacks
 * the constraints that refuse them. A repair is one transaction with the removal of the remaining
 * rows.
 */
async function chooseWay(session: Session, slice: Slice): Promise<void> {
  await prepare(session);
  const { delivery, createStage } = session.work;
  const isAlone = isOnly(slice) && delivery.generation === undefined;
  const isRepair = delivery.repairs !== undefined;
  const isDirect = isAlone || isRepair || delivery.rejects !== undefined;
  if (!isDirect && (await createStage())) return goStaged(session);
  session.way = 'direct';
  await (isRepair ? removeLeft(session.work) : session.work.clear?.());
}

/** Removes the remaining rows of a delivery that a repair writes again, in the open transaction. */
async function removeLeft({ delivery, erase, rejected }: TransactionalDelivery): Promise<void> {
  for await (const keys of delivery.repairs!.keys()) await erase?.(keys);
  const held = (await rejected?.list()) ?? [];
  await rejected?.remove(held.map(({ number }) => number));
}

/**
 * The last slice is the one that a crash may repeat, so a mover gets it unstaged, unless it lags so
 * far that the source would wait for long.
 */
async function writeStaged(session: Session, slice: Slice, bytes: Readable): Promise<Json> {
  const { work, mover } = session;
  await mover?.check();
  if (mover !== undefined && slice.is_last === true && !mover.isBehind()) {
    await end(session, 'ROLLBACK');
    await mover.insert(slice, bytes);
    return null;
  }
  // A mover holds the table; a second request would wait behind sessions that wait for the mover.
  if (mover === undefined) await prepare(session);
  const state = await work.stage(slice, bytes);
  await end(session, 'COMMIT');
  mover?.move(slice.number);
  return state;
}

async function commit(
  session: Session,
  outcomes: SliceOutcome[],
  manifest: Manifest,
): Promise<void> {
  await begin(session);
  if (session.is_delivered) await eraseRows(session.work, session.aside);
  const shower = session.is_delivered ? session.work : await complete(session, outcomes);
  await shower.writeReceipt(recordsIn(outcomes), manifest, session.has_receipt);
  await commitKnowingly(session, manifest, {
    ...shower,
    commit: () => (shower === session.work ? end(session, 'COMMIT') : shower.end('COMMIT')),
  });
}

/** Moves all rows into the table, and returns the session whose open transaction has them. */
async function complete(session: Session, outcomes: SliceOutcome[]): Promise<Shower> {
  const { work, mover } = session;
  if (mover !== undefined) {
    await mover.check();
    await end(session, 'ROLLBACK');
    await mover.finish();
    return mover;
  }
  await prepare(session);
  if (session.way === 'staged') await work.move(outcomes);
  else if (session.way === undefined) await work.clear?.();
  return work;
}

async function abort(session: Session): Promise<void> {
  await closeMover(session);
  await end(session, 'ROLLBACK');
  session.way = undefined;
  await begin(session);
  await session.work.dropStage();
  await end(session, 'COMMIT');
}

async function closeMover(session: Session): Promise<void> {
  const { mover } = session;
  session.mover = undefined;
  await mover?.close();
}
