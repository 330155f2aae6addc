import sql, { empty } from 'sql-template-tag';
import { appendActivity, server_actor } from '../../platform/activity/chain.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { isoInstant } from '../../platform/clock.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database, Queryable, Transaction } from '../../platform/postgres/database.ts';
import type { Secrets } from '../../platform/secrets.ts';
import { writeRunLog } from '../run_log.ts';
import type { AttemptResult } from './attempt.ts';
import type { NoticeEvent } from './notice.ts';
import { nextAttempt } from './schedule.ts';

/** A delivery in the hands of one process; `attempts` counts this attempt too. */
export type DueDelivery = {
  id: number;
  attempts: number;
  target_id: string | null;
  address: string | null;
  notice_id: string;
  event: NoticeEvent;
  body: string;
  batch_export_id: string;
};

/** Where a notice goes; `secret` is an envelope of `secretContext`. */
export type Target = { id: string; enabled: boolean } & ({ type: 'email'; address: string } | { type: 'webhook'; url: string; secret: Buffer });

/** For how long notices are kept, delivered or not: 30 days. */
const kept_ms = 30 * 24 * 3_600_000;

/** The context under which a target's secret is sealed. */
export function secretContext(targetId: string): string {
  return `notice_targets:${targetId}:secret`;
}

/** Takes the delivery that waits longest; nobody else gets it before `leased_until` (ms). Undefined when none is due. */
export function claimDueDelivery(db: Queryable, now: number, leased_until: number): Promise<DueDelivery | undefined> {
  // FOR UPDATE SKIP LOCKED: processes share the work. Leans on notice_deliveries_due.
  return db.row<DueDelivery>(sql`
    UPDATE notice_deliveries d SET attempts = d.attempts + 1, next_attempt_at = ${isoInstant(leased_until)}::timestamptz
    FROM notices n
    WHERE n.id = d.notice_id AND d.id = (
      SELECT id FROM notice_deliveries WHERE next_attempt_at <= ${isoInstant(now)}::timestamptz ORDER BY next_attempt_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING d.id, d.attempts, d.target_id, d.address, n.id AS notice_id, n.event, n.body, n.batch_export_id`);
}

/** The target as it is now. */
export function findTarget(db: Queryable, id: string): Promise<Target | undefined> {
  return db.row<Target>(sql`SELECT id, enabled, type, address, url, secret FROM notice_targets WHERE id = ${id}`);
}

/**
 * Stores what an attempt came to, and when the next one is due. Guarantees: an attempt that lost its lease changes nothing; the target shows the latest attempt; a notice that is given up stands in
 * the export's log; a receiver that is gone has its target switched off, which is in the activity log, unless the target has another address by now, which is tried next.
 */
export async function settleDelivery(store: { db: Database; clock: Clock; secrets: Secrets }, due: DueDelivery, result: AttemptResult): Promise<void> {
  const now = store.clock.now();
  await store.db.transaction(async (tx) => {
    // The order of whoever deletes a project or a target: the export (which the log's line refers to), the target, the delivery.
    if (result.outcome !== 'delivered') await tx.row(sql`SELECT 1 FROM batch_exports WHERE id = ${due.batch_export_id} FOR KEY SHARE`);
    const target = due.target_id === null ? undefined : await lockTarget(tx, due.target_id);
    const isGone = result.outcome === 'gone' && target?.url === result.url;
    const isOver = result.outcome === 'delivered' || result.outcome === 'hopeless' || isGone;
    const next = isOver ? null : nextAttempt(due.attempts, now);
    const outcome = result.outcome === 'delivered' ? 'delivered' : next === null ? 'given_up' : 'pending';
    const next_attempt_at = next === null ? null : isoInstant(next);
    const settled = await tx.run(sql`
      UPDATE notice_deliveries SET outcome = ${outcome}, next_attempt_at = ${next_attempt_at} WHERE id = ${due.id} AND attempts = ${due.attempts} AND outcome = 'pending'`);
    if (settled === 0 || target === undefined) return;
    const isSwitchedOff = isGone && target.enabled;
    const detail = result.outcome === 'delivered' ? null : isSwitchedOff ? `${result.detail} The target was switched off.` : result.detail;
    const shown = { delivered: 'delivered', pending: 'failed', given_up: 'given_up' }[outcome];
    const { notice_id: notice, event, batch_export_id: batch_export } = due;
    const last_attempt = { at: isoInstant(now), notice, event, batch_export, outcome: shown, detail, next_attempt_at };
    if (outcome === 'given_up') await logGivenUp(tx, due, detail);
    await tx.run(sql`
      UPDATE notice_targets SET last_attempt = ${JSON.stringify(last_attempt)}::jsonb ${isSwitchedOff ? sql`, enabled = false, last_updated_at = now()` : empty} WHERE id = ${target.id}`);
    if (isSwitchedOff) await recordSwitchedOff(tx, store.secrets, target);
  });
}

type LockedTarget = { id: string; enabled: boolean; url: string | null; name: string; organization_id: string };

function lockTarget(tx: Transaction, id: string): Promise<LockedTarget | undefined> {
  return tx.row<LockedTarget>(sql`
    SELECT t.id, t.enabled, t.url, coalesce(t.address, t.url) AS name, p.organization_id FROM notice_targets t JOIN projects p ON p.id = t.team_id
    WHERE t.id = ${id} FOR NO KEY UPDATE OF t`);
}

async function logGivenUp(tx: Transaction, due: DueDelivery, detail: string | null): Promise<void> {
  const message = `The notice "${due.event}" is given up at attempt ${due.attempts}: it could not be delivered to the target ${due.target_id}. ${detail}`;
  await writeRunLog(tx, { batch_export_id: due.batch_export_id, run_id: null, level: 'WARNING', message });
}

async function recordSwitchedOff(tx: Transaction, secrets: Secrets, { id, name, organization_id }: LockedTarget): Promise<void> {
  const changes = changesOf({ enabled: true }, { enabled: false });
  await appendActivity(tx, secrets, { organization_id }, server_actor, { activity: 'updated', scope: 'notice_target', item_id: id, item_name: name, changes });
}

/** Removes notices after 30 days, with what became of them. Leans on notices_by_age. */
export async function sweepNotices({ db, clock }: { db: Queryable; clock: Clock }): Promise<void> {
  await db.run(sql`DELETE FROM notices WHERE created_at < ${isoInstant(clock.now() - kept_ms)}::timestamptz`);
}
