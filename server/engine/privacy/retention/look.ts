import { caughtUp } from '../../../platform/clickhouse/topology/caught_up.ts';
import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { isoInstant } from '../../../platform/clock.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Database, Queryable } from '../../../platform/postgres/database.ts';
import { databaseInstant } from '../../../platform/postgres/instant.ts';
import type { Engine } from '../../exports/engine.ts';
import { settled } from '../../ingest/lock.ts';
import { subtract } from '../../model/ledger/rectangles.ts';
import { decide, proves } from './decide.ts';
import type { Decision, Facts, Unproven } from './decide.ts';
import { readFacts } from './facts.ts';
import { findUnproven } from './proofs.ts';
import { row_tables } from '../../model/removals/delete_rows.ts';
import { countBoth, storedAreas } from './rows.ts';
import type { RowCount } from './rows.ts';
import { removeDecided, sweepRetentionRemovals } from './remove.ts';
import { cutoffOf } from './setting.ts';
import type { RetentionSetting } from './setting.ts';

/** Interval of looks at a project. */
const look_ms = 6 * 3_600_000;
/**
 * Time after a change of a project's setting during which nothing is removed, in case the change
 * was a mistake.
 */
const second_thoughts_ms = 3_600_000;
/** With a greater clock difference, the age of a row is unknown. */
const clock_ms_max = 3_600_000;
/** Longest wait of a decision for the project's ingestion. */
const lock_seconds_max = 5;

type Store = Pick<Engine, 'db' | 'clickhouse' | 'secrets'>;
type Project = RetentionSetting & { id: number };

/** The rows that retention would remove, their count, and the facts behind the decision. */
export type Outlook = Decision & {
  found: { events: RowCount; persons: RowCount };
  facts: Facts;
  unproven: Unproven;
};

/**
 * Checks the projects that are due, decides which rows to remove, removes them, and returns the
 * number of finished removals. Any number of processes may call this.
 */
export async function retainRows(
  engine: Store & { clock: Clock; log: Engine['log'] },
  signal: AbortSignal,
): Promise<number> {
  const { db, clock, log } = engine;
  for (;;) {
    if (signal.aborted) return 0;
    const project = await takeTurn(db, clock.now());
    if (project === undefined) {
      await sweepRetentionRemovals(engine);
      return caughtUp(engine.clickhouse, row_tables, () => removeDecided(engine, signal));
    }
    const now = await databaseInstant(db);
    if (Math.abs(now - clock.now()) > clock_ms_max) {
      log.error('retention removes nothing: the clocks of server and database differ');
      return 0;
    }
    try {
      const outlook = await caughtUp(engine.clickhouse, row_tables, () =>
        lookAhead(engine, project.id, project, now, signal),
      );
      const { events, persons } = outlook.found;
      if (events.rows + persons.rows > 0) await note(db, project, outlook, now);
    } catch (error) {
      // The project is due again with the next look, not hours later.
      await db.run(sql`UPDATE projects SET retention_looked_at = NULL WHERE id = ${project.id}`);
      throw error;
    }
  }
}

/**
 * Counts the rows that retention would remove from a project with the current setting. It is a
 * forecast, because it takes no locks.
 */
export async function lookAhead(
  store: Store,
  team_id: number,
  setting: RetentionSetting,
  now: number,
  signal: AbortSignal,
): Promise<Outlook> {
  const facts = await readFacts(store.db, team_id);
  const unproven = await unprovenOf(store, team_id, setting, facts, now, signal);
  const decision = decide(setting, facts, unproven, { now, settled: now });
  const found = await countBoth(store.clickhouse, team_id, storedAreas(decision), signal);
  return { ...decision, found, facts, unproven };
}

/** Receipts for removed events prove nothing that a decision still needs. */
async function unprovenOf(
  { db, clickhouse, secrets }: Store,
  team_id: number,
  setting: RetentionSetting,
  { exports }: Facts,
  now: number,
  signal: AbortSignal,
): Promise<Unproven> {
  if (setting.retention !== 'until_delivered') return new Map();
  const to = cutoffOf(setting, now);
  const oldest = await oldestEvent(clickhouse, team_id, signal);
  const of = (isEvents: boolean) =>
    exports.filter(proves).filter(({ model }) => (model === 'events') === isEvents);
  const events = await findUnproven({ db, secrets }, of(true), { from: oldest, to }, signal);
  const others = { from: -Infinity, to };
  return new Map([...events, ...(await findUnproven({ db, secrets }, of(false), others, signal))]);
}

// Uses the table's primary key.
async function oldestEvent(
  clickhouse: Engine['clickhouse'],
  team_id: number,
  abort_signal: AbortSignal,
): Promise<number> {
  const [row] = await clickhouse.rows<{ oldest: number | string }>({
    query: `SELECT toUnixTimestamp64Milli(inserted_at) AS oldest FROM events
      WHERE team_id = {team_id:Int64} ORDER BY inserted_at LIMIT 1`,
    query_params: { team_id },
    abort_signal,
  });
  return row === undefined ? Infinity : Number(row.oldest);
}

/** Waits for a change of the setting to end. */
async function takeTurn(db: Queryable, now: number): Promise<Project | undefined> {
  const before = (ms: number) => isoInstant(now - ms);
  return db.row<Project>(sql`
    UPDATE projects SET retention_looked_at = ${isoInstant(now)} WHERE id IN (
      SELECT id FROM projects WHERE retention <> 'forever'
        AND updated_at < ${before(second_thoughts_ms)}::timestamptz
        AND (retention_looked_at IS NULL OR retention_looked_at < ${before(look_ms)}::timestamptz
          OR retention_looked_at < updated_at)
      ORDER BY retention_looked_at NULLS FIRST, id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id, retention, retention_days`);
}

/**
 * Decides under the locks and records the decision: from its commit on, requests for removed rows
 * get a notice. The caller has already checked the receipts, because that takes long. Proofs stay
 * valid; newer deliveries wait for the next time. If an export was added or restarted, or the
 * setting changed, everything waits.
 */
async function note(
  db: Database,
  { id: team_id, ...before }: Project,
  seen: Outlook,
  now: number,
): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.text(`SET LOCAL lock_timeout = '${lock_seconds_max}s'`);
    const final = Date.parse(await settled(tx, team_id));
    // An erasure writes deliveries again, from rows that must exist until then.
    const erasure = await tx.row(sql`SELECT 1 FROM erasures
      WHERE team_id = ${team_id} AND finished_at IS NULL`);
    if (erasure !== undefined) return;
    const facts = await readFacts(tx, team_id, 'lock');
    const setting = await settingOf(tx, team_id);
    if (setting === undefined || !isSame([setting, names(facts)], [before, names(seen.facts)]))
      return;
    const decision = decide(setting, facts, withNews(seen, facts), { now, settled: final });
    if (decision.events.length === 0 && decision.persons.length === 0) return;
    await tx.run(sql`
      INSERT INTO retention_removals (id, team_id, retention, removed_before, areas)
      VALUES (${uuidv7()}, ${team_id}, ${setting.retention}, ${isoInstant(decision.before)},
        ${JSON.stringify(storedAreas(decision))})
      ON CONFLICT DO NOTHING`);
  });
}

/** Deliveries after the check of the receipts are not proven yet. */
function withNews(seen: Outlook, { exports }: Facts): Unproven {
  const known = new Map(seen.facts.exports.map(({ id, delivered }) => [id, delivered]));
  return new Map(
    exports.map(({ id, delivered }) => [
      id,
      [...(seen.unproven.get(id) ?? []), ...subtract(delivered, known.get(id) ?? [])],
    ]),
  );
}

function settingOf(db: Queryable, team_id: number): Promise<RetentionSetting | undefined> {
  return db.row<RetentionSetting>(sql`SELECT retention, retention_days FROM projects
    WHERE id = ${team_id} AND retention <> 'forever'`);
}

function names({ exports }: Facts): string[] {
  return exports.map(({ id, revision }) => `${id} ${revision}`);
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
