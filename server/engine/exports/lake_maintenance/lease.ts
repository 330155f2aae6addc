import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import type { Engine } from '../engine.ts';
import type { Round } from './maintain.ts';
import { dropOtherJobs } from './rewrite_rows.ts';

/** After this silence, a process counts as dead. */
const claim_seconds = 60;
/** Seconds until the next round at a table. */
const pause_seconds = 1_800;
/** Seconds until the next round after a failed one. */
const failed_pause_seconds = 3_600;
/** Seconds between two rounds that also remove files. */
const day_seconds = 24 * 3_600;
const failed_detail =
  'The latest maintenance failed; the log of the server says why. It is tried again in an hour.';

const renew_ms = 15_000;

/** A table that one process has claimed; `claim_id` also names its work. */
export type Claim = { id: string; team_id: number; claim_id: string };

/** One kind of maintained tables. */
export type MaintainedKind<Table> = {
  /** The table of the control store with their leases, and its key. */
  leases: Sql;
  key: Sql;
  /** The table that `key` refers to, and its rows (`own`) that may be maintained. */
  records: Sql;
  fits: Sql;
  /** The export of a row `own`. */
  export_id: Sql;
  /** Opens a table; undefined if its files are unreachable. */
  open(engine: Engine, claim: Claim, signal: AbortSignal): Promise<Table | undefined>;
  /** Runs the maintenance that a table needs; undefined if it needs none. */
  maintain(table: Table, is_daily: boolean): Promise<Round | undefined>;
  /** Notifies people about a round, in the transaction that ends it. */
  tell?(tx: Transaction, engine: Engine, id: string, round: Round): Promise<void>;
};

/**
 * Maintains the due tables one after the other, and returns their number. Guarantee: one process
 * works on a table and renews its lease; after a kill another one continues. A table that fails
 * waits an hour and shows the reason.
 */
export async function maintainDue<Table>(
  engine: Engine,
  kind: MaintainedKind<Table>,
  signal: AbortSignal,
): Promise<number> {
  for (let done = 0; ; done += 1) {
    const claimed = signal.aborted ? undefined : await claimTable(engine, kind);
    if (claimed === undefined) return done;
    await maintainClaimed(engine, kind, claimed, signal);
  }
}

/**
 * Claims the longest due table. Skips tables of exports that wait to be reconciled: after a
 * restore, the catalog may be older than the files.
 */
async function claimTable<Table>(
  { db, clock }: Engine,
  { leases, key, records, fits, export_id }: MaintainedKind<Table>,
): Promise<(Claim & { is_daily: boolean }) | undefined> {
  const now = sql`${isoInstant(clock.now())}::timestamptz`;
  await db.run(sql`INSERT INTO ${leases} (${key}, due_at)
    SELECT own.id, ${now} FROM ${records} own WHERE ${fits}
      AND NOT EXISTS (SELECT 1 FROM ${leases} m WHERE m.${key} = own.id)
    ON CONFLICT DO NOTHING`);
  return db.row(sql`
    UPDATE ${leases} m SET claim_id = ${randomUUID()}::uuid, claimed_at = ${now}
    FROM ${records} t
    WHERE t.id = m.${key} AND m.${key} = (SELECT m.${key} FROM ${leases} m
      JOIN ${records} own ON own.id = m.${key}
      WHERE m.due_at <= ${now} AND ${fits} AND ${isFree(now)}
        AND NOT EXISTS (SELECT 1 FROM reconciliations waiting
          WHERE waiting.batch_export_id = ${export_id})
      ORDER BY m.due_at LIMIT 1 FOR UPDATE OF m SKIP LOCKED)
    RETURNING m.${key} AS id, t.team_id, m.claim_id, m.cleaned_at IS NULL
      OR m.cleaned_at <= ${now} - make_interval(secs => ${day_seconds}) AS is_daily`);
}

const isFree = (now: Sql) => sql`(m.claimed_at IS NULL
  OR m.claimed_at < ${now} - make_interval(secs => ${claim_seconds}))`;

async function maintainClaimed<Table>(
  engine: Engine,
  kind: MaintainedKind<Table>,
  claimed: Claim & { is_daily: boolean },
  signal: AbortSignal,
): Promise<void> {
  try {
    const round = await whileHeld(engine, kind, claimed, signal, async (held) => {
      await dropOtherJobs(engine);
      const table = await kind.open(engine, claimed, held);
      return table === undefined ? undefined : kind.maintain(table, claimed.is_daily);
    });
    const details = [round?.unreadable, round?.detail].filter((text) => typeof text === 'string');
    const detail = details.length === 0 ? null : details.join(' ');
    await giveBack(engine, kind, claimed, { round, detail, wait_seconds: pause_seconds });
  } catch (error) {
    if (signal.aborted)
      return await giveBack(engine, kind, claimed, { detail: null, wait_seconds: 0 });
    engine.log.error({ err: error, table: claimed.id }, 'maintenance of a table failed');
    const failed = { detail: failed_detail, wait_seconds: failed_pause_seconds };
    await giveBack(engine, kind, claimed, failed);
  }
}

/**
 * Runs other work on a table that must not overlap with maintenance. Undefined if another process
 * has claimed the table.
 */
export async function whileUnmaintained<Table, Result>(
  engine: Engine,
  kind: MaintainedKind<Table>,
  table: { id: string; team_id: number },
  signal: AbortSignal,
  work: (table: Table | undefined) => Promise<Result>,
): Promise<Result | undefined> {
  const { leases, key } = kind;
  const claim = { ...table, claim_id: randomUUID() };
  const now = sql`${isoInstant(engine.clock.now())}::timestamptz`;
  const held = await engine.db.run(sql`
    INSERT INTO ${leases} AS m (${key}, claim_id, claimed_at)
    VALUES (${claim.id}::uuid, ${claim.claim_id}::uuid, ${now})
    ON CONFLICT (${key}) DO UPDATE SET claim_id = ${claim.claim_id}::uuid, claimed_at = ${now}
    WHERE ${isFree(now)}`);
  if (held === 0) return undefined;
  try {
    return await whileHeld(engine, kind, claim, signal, async (own) =>
      work(await kind.open(engine, claim, own)),
    );
  } finally {
    await engine.db.run(sql`UPDATE ${leases} SET claim_id = NULL, claimed_at = NULL
      WHERE ${isOf(kind, claim)}`);
  }
}

const isOf = <Table>({ key }: MaintainedKind<Table>, { id, claim_id }: Claim) =>
  sql`${key} = ${id}::uuid AND claim_id = ${claim_id}::uuid`;

/**
 * Runs work on a table, renews its lease meanwhile, and returns the result. Its signal aborts if
 * another process claims the table.
 */
async function whileHeld<Table, Result>(
  { db, clock, log }: Engine,
  kind: MaintainedKind<Table>,
  claim: Claim,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const lost = new AbortController();
  const timer = setInterval(() => {
    const at = isoInstant(clock.now());
    db.run(sql`UPDATE ${kind.leases} SET claimed_at = ${at} WHERE ${isOf(kind, claim)}`).then(
      (held) => (held === 0 ? lost.abort() : undefined),
      (error: unknown) => log.warn({ err: error }, 'a lease could not be renewed'),
    );
  }, renew_ms);
  try {
    return await work(AbortSignal.any([signal, lost.signal]));
  } finally {
    clearInterval(timer);
  }
}

type Ended = { round?: Round | undefined; detail: string | null; wait_seconds: number };

async function giveBack<Table>(
  engine: Engine,
  kind: MaintainedKind<Table>,
  claim: Claim,
  { round, detail, wait_seconds }: Ended,
): Promise<void> {
  const { db, clock } = engine;
  const now = sql`${isoInstant(clock.now())}::timestamptz`;
  const has_changed = countChanges(engine, round);
  await db.transaction(async (tx) => {
    if (round !== undefined) await kind.tell?.(tx, engine, claim.id, round);
    await tx.run(sql`UPDATE ${kind.leases} SET claim_id = NULL, claimed_at = NULL,
      due_at = ${now} + make_interval(secs => ${wait_seconds}),
      finished_at = CASE WHEN ${round !== undefined} THEN ${now} ELSE finished_at END,
      changed_at = CASE WHEN ${has_changed} THEN ${now} ELSE changed_at END,
      result = CASE WHEN ${has_changed} THEN ${JSON.stringify(round?.result ?? {})}::jsonb
        ELSE result END,
      cleaned_at = CASE WHEN ${round?.has_cleaned === true} THEN ${now} ELSE cleaned_at END,
      detail = ${detail}
    WHERE ${isOf(kind, claim)}`);
  });
}

/** Adds the changes of a round to the metric; returns true if there were any. */
function countChanges({ metrics }: Engine, round: Round | undefined): boolean {
  const changes = Object.entries(round?.result ?? {}).filter(([, count]) => count > 0);
  for (const [change, count] of changes) metrics.lake_maintenance.inc({ change }, count);
  return changes.length > 0;
}
