import sql from 'sql-template-tag';
import { appendActivity, server_actor } from '../../platform/activity/chain.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { isoInstant } from '../../platform/clock.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database, Transaction } from '../../platform/postgres/database.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import { writeRunLog } from '../model/run_log.ts';
import type { AttemptResult } from './attempt.ts';
import type { DueDelivery } from './claim.ts';
import { nextAttempt } from '../../platform/pacing/retry_schedule.ts';
import { urlContext } from './webhook_url.ts';
import type { DisabledReason } from './outbox.ts';

/**
 * Stores the result of an attempt and the time of the next one. Guarantees: an attempt that lost
 * its lease changes nothing. The target shows its latest attempt. The export's log has the notices
 * that Sluice gave up. A target gets its requested pause. A target whose receiver is gone is
 * disabled, with the reason in the activity log, unless its address changed meanwhile. Then the new
 * address is tried next. Every attempt is stored. Notices sent together use the same `now` and
 * `jitter` (from 0 to below 1), so that they stay together.
 */
export async function settleDelivery(
  store: { db: Database; clock: Clock; secrets: Secrets },
  due: DueDelivery,
  result: AttemptResult,
  { now, jitter } = { now: store.clock.now(), jitter: Math.random() },
): Promise<void> {
  await store.db.transaction(async (tx) => {
    // Locks in the same order as a deletion: the export (which the log's line refers to), the
    // target, the delivery.
    if (result.outcome !== 'delivered')
      await tx.row(
        sql`SELECT 1 FROM batch_exports WHERE id = ${due.batch_export_id} FOR KEY SHARE`,
      );
    const target = due.target_id === null ? undefined : await lockTarget(tx, due.target_id);
    const isGone =
      result.outcome === 'gone' &&
      target !== undefined &&
      hasUrl(store.secrets, target, result.url);
    const isOver = result.outcome === 'delivered' || result.outcome === 'hopeless' || isGone;
    const rest_ms = (result.outcome === 'failed' ? result.rest_ms : undefined) ?? 0;
    const next = isOver ? null : nextAttempt(due.attempts, now, rest_ms, () => jitter);
    const outcome =
      result.outcome === 'delivered' ? 'delivered' : next === null ? 'given_up' : 'pending';
    const next_attempt_at = next === null ? null : isoInstant(next);
    const settled = await tx.run(sql`
      UPDATE notice_deliveries SET outcome = ${outcome}, next_attempt_at = ${next_attempt_at},
        is_under_way = false
      WHERE id = ${due.id} AND attempts = ${due.attempts} AND outcome = 'pending'`);
    if (settled === 0) return;
    const isSwitchedOff = isGone && target.enabled;
    const detail =
      result.outcome === 'delivered'
        ? null
        : isSwitchedOff
          ? `${result.detail} The target was switched off.`
          : result.detail;
    const shown = { delivered: 'delivered', pending: 'failed', given_up: 'given_up' }[outcome];
    const at = isoInstant(now);
    await keepAttempt(tx, due, { at, shown, detail, status: result.status });
    // Without a relay, or for a former administrator, the failure is not logged.
    if (outcome === 'given_up' && (due.target_id !== null || result.outcome !== 'hopeless'))
      await logGivenUp(tx, due, detail);
    if (target === undefined) return;
    await showAttempt(tx, due, { at, outcome: shown, detail, next_attempt_at });
    if (rest_ms > 0)
      await tx.run(sql`
        UPDATE notice_targets SET held_until = ${isoInstant(now + rest_ms)}::timestamptz
        WHERE id = ${target.id}`);
    if (isSwitchedOff) await switchOff(tx, store.secrets, target, now);
  });
}

async function keepAttempt(
  tx: Transaction,
  { id }: DueDelivery,
  kept: { at: string; shown: string; detail: string | null; status: number | undefined },
): Promise<void> {
  await tx.run(sql`
    INSERT INTO notice_attempts (delivery_id, number, at, outcome, status, detail)
    SELECT ${id}, coalesce(max(number), 0) + 1, ${kept.at}, ${kept.shown}, ${kept.status ?? null},
      ${kept.detail} FROM notice_attempts WHERE delivery_id = ${id}`);
}

/** Stores the attempt as the latest one of its target. */
async function showAttempt(
  tx: Transaction,
  { notice_id: notice, event, batch_export_id: batch_export, target_id }: DueDelivery,
  attempt: Record<'at' | 'outcome' | 'detail' | 'next_attempt_at', string | null>,
): Promise<void> {
  const last_attempt = { notice, event, batch_export, ...attempt };
  await tx.run(sql`
    UPDATE notice_targets SET last_attempt = ${JSON.stringify(last_attempt)}::jsonb
    WHERE id = ${target_id}`);
}

type LockedTarget = {
  id: string;
  enabled: boolean;
  url_sealed: Buffer | null;
  name: string;
  organization_id: string;
};

function lockTarget(tx: Transaction, id: string): Promise<LockedTarget | undefined> {
  return tx.row<LockedTarget>(sql`
    SELECT t.id, t.enabled, t.url_sealed, coalesce(t.name, t.address, t.url) AS name,
      p.organization_id FROM notice_targets t JOIN projects p ON p.id = t.team_id
    WHERE t.id = ${id} FOR NO KEY UPDATE OF t`);
}

/**
 * Compares contents: after a rotation of the secret key, the envelope of the same address differs.
 */
function hasUrl(secrets: Secrets, { id, url_sealed }: LockedTarget, url: string): boolean {
  return url_sealed !== null && secrets.open(url_sealed, urlContext(id)) === url;
}

async function logGivenUp(tx: Transaction, due: DueDelivery, detail: string | null): Promise<void> {
  if (due.batch_export_id === null) return;
  const recipient =
    due.target_id === null ? 'an administrator of the organization' : `the target ${due.target_id}`;
  const message =
    `Sluice gives up the notice "${due.event}" after attempt ${due.attempts}: it could not ` +
    `be delivered to ${recipient}. ${detail}`;
  await writeRunLog(tx, {
    batch_export_id: due.batch_export_id,
    run_id: null,
    level: 'WARNING',
    message,
  });
}

async function switchOff(
  tx: Transaction,
  secrets: Secrets,
  { id, name, organization_id }: LockedTarget,
  now: number,
): Promise<void> {
  const detail =
    'The receiver answered 410, so Sluice sends it no more notices. Enter the address of another ' +
    'receiver, or enable the target again when this one is back.';
  const disabled_reason: DisabledReason = { code: 'gone', detail, at: isoInstant(now) };
  await tx.run(sql`
    UPDATE notice_targets SET enabled = false,
      disabled_reason = ${JSON.stringify(disabled_reason)}::jsonb, last_updated_at = now()
      WHERE id = ${id}`);
  const changes = changesOf(
    { enabled: true, disabled_reason: null },
    { enabled: false, disabled_reason },
  );
  await appendActivity(tx, secrets, { organization_id }, server_actor, {
    activity: 'updated',
    scope: 'notice_target',
    item_id: id,
    item_name: name,
    changes,
  });
}
